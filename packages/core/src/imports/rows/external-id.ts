import { ExternalId } from '../../kernel/values/external-id.ts'

/** `1.23457E+14`, or `1.23457E14` (Java): several ids of a column become the same text. */
const shortened = /^[+-]?\d(?:(?:[.,]\d+)?e[+-]\d{2,3}|[.,]\d+e\d{1,3})$/i

/** An external id in a file. */
export const ImportedExternalId = ExternalId.refine(
  (id) => !shortened.test(id),
  'was shortened by a spreadsheet: export the file again, and do not save it in a spreadsheet, or format the column as text',
)
  .nullable()
  .optional()
