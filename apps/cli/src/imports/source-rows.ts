/** Reads the rows of an export as its system writes them. */
import { type FileHandle, open } from 'node:fs/promises'
import { openWindow } from '@rapport/core/imports/file/byte-window.ts'
import { createCsvReader } from '@rapport/core/imports/file/csv-rows.ts'
import { readHeader } from '@rapport/core/imports/columns/import-header.ts'
import { type SourceName, sources } from '@rapport/core/imports/columns/sources.ts'
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
  for await (const { line, cells } of readSourceCells(source, file)) {
    const address = cells.get('email') ?? cells.get('EMAIL') ?? cells.get('Email') ?? cells.get('Email Address') ?? ''
    yield { line, email: Email.safeParse(address).data, word: readWord(source, cells, file.status) }
  }
}

/** Yields the header, then the cells of each row by their headers. */
export async function* readSourceCells(
  source: SourceName,
  { path }: Pick<ExportFile, 'path'>,
): AsyncGenerator<{ line: number; cells: ReadonlyMap<string, string> }> {
  const handle = await open(path)
  try {
    yield* readRows(handle, source)
  } finally {
    await handle.close()
  }
}

/** The names of the columns of an export. */
export async function readSourceHeader(source: SourceName, { path }: Pick<ExportFile, 'path'>): Promise<string[]> {
  const handle = await open(path)
  try {
    return (await readNames(handle, source)).names
  } finally {
    await handle.close()
  }
}

async function readNames(handle: FileHandle, source: SourceName) {
  const known = Object.keys(sources[source].columns).map((name) => name.toLowerCase())
  const { layout, start } = await readHeader((await readPart(handle, 0)) ?? Buffer.alloc(0), {
    isKnown: (name) => known.includes(name.toLowerCase()),
    match: (columns) => ({ columns: [...columns] }),
  })
  return { names: layout.columns.map((name) => name?.trim() ?? ''), delimiter: layout.delimiter, start }
}

async function* readRows(handle: FileHandle, source: SourceName) {
  const { names, delimiter, start } = await readNames(handle, source)
  const window = openWindow((position) => readPart(handle, position), start)
  const readBatch = createCsvReader(delimiter)
  for (;;) {
    const rows = await readBatch(window, 1_000)
    if (rows.length === 0) return
    for (const row of rows) {
      if (!('content' in row)) continue
      const cells = new Map(names.map((name, index) => [name, row.content[index]?.trim() ?? '']))
      yield { line: row.line, cells }
    }
  }
}

async function readPart(handle: FileHandle, position: number): Promise<Buffer | undefined> {
  const { bytesRead, buffer } = await handle.read(Buffer.alloc(partBytes), 0, partBytes, position)
  return bytesRead === 0 ? undefined : buffer.subarray(0, bytesRead)
}
