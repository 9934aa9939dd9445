/** Reads whole CSV files with the readers of an import, without a database. */
import type { CustomFields } from '@rapport/core/custom-fields/custom-fields.ts'
import type { GivenColumns } from '@rapport/core/imports/columns/column-names.ts'
import { type ColumnMatcher, readHeader } from '@rapport/core/imports/columns/import-header.ts'
import { type ColumnOptions, createColumnMatcher } from '@rapport/core/imports/columns/match-columns.ts'
import { createSuppressionColumnMatcher } from '@rapport/core/imports/columns/match-suppression-columns.ts'
import { checkHead } from '@rapport/core/imports/create-import.ts'
import type { FileRow } from '@rapport/core/imports/file/csv-rows.ts'
import { readBufferedRows } from '@rapport/core/imports/file/read-rows.ts'
import { contactReader, type ImportRow } from '@rapport/core/imports/rows/person-rows.ts'
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
  return rows.map(contactReader({ layout, fields, ofEveryRow: layout.statuses ?? [] }))
}

/** The rows of a file of addresses to suppress. Throws what the upload answers. */
export async function readSuppressionFile(file: string, options: GivenColumns = {}): Promise<SuppressionRow[]> {
  const { layout, rows } = await readRows(file, createSuppressionColumnMatcher(options))
  return rows.map(suppressionReader({ layout, rowStatus: null }))
}

async function readRows(file: string, matcher: ColumnMatcher) {
  const bytes = Buffer.from(file)
  const { layout, start } = await readHeader(bytes, matcher)
  await checkHead(bytes, { layout, start })
  const rows: FileRow<unknown>[] = []
  for await (const row of readBufferedRows(bytes, { layout, start })) rows.push(row)
  return { layout, rows }
}
