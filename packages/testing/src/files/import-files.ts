/** Reads whole CSV files with the readers of an import, without a database. */
import type { CustomFields } from '@rapport/core/custom-fields/custom-fields.ts'
import { openWindow } from '@rapport/core/imports/file/byte-window.ts'
import { createCsvReader } from '@rapport/core/imports/file/csv-rows.ts'
import { checkIgnoredColumns } from '@rapport/core/imports/file/ignored-columns.ts'
import { type ColumnMatcher, readHeader } from '@rapport/core/imports/file/import-header.ts'
import { type ColumnOptions, createColumnMatcher } from '@rapport/core/imports/file/match-columns.ts'
import { createSuppressionColumnMatcher } from '@rapport/core/imports/file/match-suppression-columns.ts'
import { type ImportRow, readImportRow } from '@rapport/core/imports/rows/import-rows.ts'
import { readCells } from '@rapport/core/imports/rows/row-values.ts'
import { type SuppressionRow, suppressionReader } from '@rapport/core/imports/rows/suppression-rows.ts'

interface ContactFile extends Omit<ColumnOptions, 'fields'> {
  fields?: CustomFields
}

/** The rows of a file of contacts. Throws what the upload answers. */
export async function readContactFile(
  file: string,
  { fields = new Map(), ...options }: ContactFile = {},
): Promise<ImportRow[]> {
  const { layout, rows } = await readRows(file, createColumnMatcher({ fields, ...options }))
  const format = { layout, fields, decimalMarks: new Map() }
  return rows.map((row) => readImportRow(readCells(row, format), { ofEveryRow: layout.statuses ?? [], fields }))
}

/** The rows of a file of addresses to suppress. Throws what the upload answers. */
export async function readSuppressionFile(file: string): Promise<SuppressionRow[]> {
  const { layout, rows } = await readRows(file, createSuppressionColumnMatcher({}))
  return rows.map(suppressionReader({ layout, rowStatus: null }))
}

async function readRows(file: string, matcher: ColumnMatcher) {
  const bytes = Buffer.from(file)
  const { layout, start } = await readHeader(bytes, matcher)
  await checkIgnoredColumns(bytes, layout, start)
  const window = openWindow(async (from) => (from < bytes.length ? bytes.subarray(from) : undefined), start)
  return { layout, rows: await createCsvReader(layout.delimiter)(window, 100) }
}
