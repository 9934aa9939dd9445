/** The deletion of a company: its contacts outlive it, and its deals prevent it. */
import { and, eq } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { companyDeleted } from './company-events.ts'
import { companyColumns, type CompanyRow, toCompany } from './company-record.ts'
import { violatedConstraint } from '../db/database-errors.ts'
import { companies, deals } from '../db/schema/index.ts'
import { emit } from '../events/emit.ts'
import { conflict, notFound } from '../kernel/errors.ts'
import type { CompanyId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { enqueue } from '../work/enqueue.ts'

/**
 * Deletes a company and emits `company.deleted`. The worker clears the company of its contacts in the background, without
 * events. Throws `in_use` while it has deals.
 */
export function deleteCompany(ctx: Ctx, id: CompanyId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const company = await deleteRow(ctx, id)
    await enqueue(ctx, 'RELEASE_COMPANY', id)
    await emit(ctx, companyDeleted, toCompany(company))
    await audit(ctx, 'company.deleted', { subjectId: id })
  })
}

/**
 * Deletes the row. Waits for transactions that have locked it for a contact or deal of theirs, so that the worker finds
 * these contacts, and the foreign key finds these deals.
 */
async function deleteRow(ctx: Ctx, id: CompanyId): Promise<CompanyRow> {
  const remove = async ({ db }: Ctx) =>
    await db
      .delete(companies)
      .where(byId(companies, ctx, id))
      .returning(companyColumns)
  // In a savepoint, so that the transaction can count the deals.
  const deleted = await inTransaction(ctx, remove).catch(async (error: unknown) => {
    if (violatedConstraint(error) !== 'deals_company_fk') throw error
    const dealCount = await ctx.db.$count(deals, and(eq(deals.workspaceId, ctx.workspaceId), eq(deals.companyId, id)))
    throw conflict('in_use', 'The company has deals: delete them, or give them another company', { dealCount })
  })
  const [row] = deleted
  if (!row) throw notFound('Company')
  return row
}
