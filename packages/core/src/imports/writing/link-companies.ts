/** Finds the companies that the rows of an import name. */
import { lockCompanies } from '../../companies/linked-companies.ts'
import type { Ctx } from '../../request/context.ts'
import type { ImportRow } from '../rows/import-rows.ts'

/**
 * Leaves out, with a warning, the `companyId` of rows whose company does not exist here: the people of an export can be
 * imported into another workspace. Locks the others.
 */
export async function linkCompanies(ctx: Ctx, rows: readonly ImportRow[]): Promise<ImportRow[]> {
  const ids = rows.flatMap((row) => ('contact' in row ? (row.contact.companyId ?? []) : []))
  const known = await lockCompanies(ctx, ids)
  return rows.map((row) => {
    if (!('contact' in row) || !row.contact.companyId || known.has(row.contact.companyId)) return row
    const { companyId: _, ...contact } = row.contact
    const warning = { line: row.line, column: 'companyId', message: 'Company not found; left out' }
    return { ...row, contact, warnings: [...(row.warnings ?? []), warning] }
  })
}
