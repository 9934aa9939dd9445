/** Columns that the caller leaves out as unknown, although one of their values speaks of consent. */
import type { Layout } from '../../db/schema/imports.ts'
import { speaksOfConsent } from '../rows/file-status.ts'
import { openWindow, type FileLocation } from './byte-window.ts'
import { createCsvReader, type FileRow } from './csv-rows.ts'
import { consentLeftOut } from './match-columns.ts'

/** Returns a check that throws `validation_error` for such a value; undefined if no column is left out. */
export function createIgnoredCheck(layout: Layout | null): ((row: FileRow<string[]>) => void) | undefined {
  const { ignored } = layout ?? {}
  if (!ignored?.length) return undefined
  return (row) => {
    if ('error' in row) return
    const found = ignored.find(({ position }) => speaksOfConsent(row.content[position] ?? ''))
    if (found) throw consentLeftOut(found.name, { line: row.line })
  }
}

/** Checks the rows at the start of a file, when it is received. The first pass checks the others. */
export async function checkIgnoredColumns(head: Buffer, layout: Layout, start: FileLocation): Promise<void> {
  const check = createIgnoredCheck(layout)
  if (!check) return
  const window = openWindow(async (from) => (from < head.length ? head.subarray(from) : undefined), start)
  const readRows = createCsvReader(layout.delimiter)
  for (;;) {
    const rows = await readRows(window, 1_000)
    if (rows.length === 0) return
    for (const row of rows) check(row)
  }
}
