/** Reads the rows of an export as its system writes them. */
import { type FileHandle, open } from 'node:fs/promises'
import { openWindow } from '@rapport/core/imports/file/byte-window.ts'
import { createCsvReader } from '@rapport/core/imports/file/csv-rows.ts'
import { readHeader } from '@rapport/core/imports/file/import-header.ts'
import { type SourceName, sources } from '@rapport/core/imports/sources/sources.ts'
import { Email } from '@rapport/core/kernel/validation.ts'
import type { ExportFile } from './export-files.ts'
import { readWord, type Word } from './source-words.ts'

export interface SourceRow {
  line: number
  /** As Rapport stores it; undefined if it is no address. */
  email: string | undefined
  word: Word
}

const partBytes = 65_536

/** Yields the rows in flat memory. A row that cannot be parsed is left out: the import reports it. */
export async function* readSourceRows(source: SourceName, file: ExportFile): AsyncGenerator<SourceRow> {
  const handle = await open(file.path)
  try {
    yield* readRows(handle, source, file)
  } finally {
    await handle.close()
  }
}

async function* readRows(handle: FileHandle, source: SourceName, { status }: ExportFile): AsyncGenerator<SourceRow> {
  const known = Object.keys(sources[source].columns).map((name) => name.toLowerCase())
  const { layout, start } = await readHeader((await readPart(handle, 0)) ?? Buffer.alloc(0), {
    isKnown: (name) => known.includes(name.toLowerCase()),
    match: (columns) => ({ columns: [...columns] }),
  })
  const names = layout.columns.map((name) => name?.trim() ?? '')
  const window = openWindow((position) => readPart(handle, position), start)
  const readBatch = createCsvReader(layout.delimiter)
  for (;;) {
    const rows = await readBatch(window, 1_000)
    if (rows.length === 0) return
    for (const row of rows) if ('content' in row) yield toSourceRow(row.line, row.content)
  }

  function toSourceRow(line: number, content: readonly string[]): SourceRow {
    const cells = new Map(names.map((name, index) => [name, content[index]?.trim() ?? '']))
    const address = cells.get('email') ?? cells.get('EMAIL') ?? cells.get('Email Address') ?? ''
    return { line, email: Email.safeParse(address).data, word: readWord(source, cells, status) }
  }
}

async function readPart(handle: FileHandle, position: number): Promise<Buffer | undefined> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(partBytes), 0, partBytes, position)
  return bytesRead === 0 ? undefined : buffer.subarray(0, bytesRead)
}
