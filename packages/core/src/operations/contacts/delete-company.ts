/** The deletion of a company: its contacts and their notes outlive it, and its deals prevent it. */
import { and, eq } from 'drizzle-orm'
import { audit } from '../../audit/audit.ts'
import { companyDeleted } from '../../companies/company-events.ts'
import { companyColumns, toCompany } from '../../companies/company-record.ts'
import { companies, deals } from '../../db/schema/index.ts'
import { emit } from '../../events/emit.ts'
import { conflict, notFound } from '../../kernel/errors.ts'
import type { CompanyId } from '../../kernel/ids.ts'
import { releaseNotesOfCompany } from '../../notes/release-notes.ts'
import { byId } from '../../request/by-id.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { enqueue } from '../../work/enqueue.ts'

/**
 * Deletes a company and emits `company.deleted`. The worker clears the company of its contacts in the background, without
 * events. Throws `in_use` while it has deals. May deadlock, as `deleteContact`.
 */
export function deleteCompany(ctx: Ctx, id: CompanyId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const isCompany = byId(companies, ctx, id)
    // Waits for transactions that have locked it for a contact, a deal or a note of theirs.
    const [company] = await ctx.db.select(companyColumns).from(companies).where(isCompany).for('update')
    if (!company) throw notFound('Company')
    const dealCount = await ctx.db.$count(deals, and(eq(deals.workspaceId, ctx.workspaceId), eq(deals.companyId, id)))
    if (dealCount > 0)
      throw conflict('in_use', 'The company has deals: delete them, or give them another company', { dealCount })
    await releaseNotesOfCompany(ctx, id)
    await ctx.db.delete(companies).where(isCompany)
    await enqueue(ctx, 'RELEASE_COMPANY', id)
    await emit(ctx, companyDeleted, toCompany(company))
    await audit(ctx, 'company.deleted', { subjectId: id })
  })
}
