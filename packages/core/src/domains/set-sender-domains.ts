import { and, eq, isNull } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { senderDomains, workspaces } from '../db/schema/index.ts'
import { AppError, notFound } from '../kernel/errors.ts'
import { type Ctx, inTransaction } from '../request/context.ts'

/**
 * Gives domains to a workspace, for the operator: it then sends only from these and from those that it has verified, and
 * workspaces without domains of their own no longer send from them. An empty list removes the restriction. Throws
 * `not_found`, and `validation_error` for a domain that `MAIL_FROM_DOMAINS` does not allow.
 */
export async function setSenderDomains(ctx: Ctx, domains: readonly string[]): Promise<void> {
  const { mailFromDomains } = ctx.settings
  const outside = domains.find((domain) => mailFromDomains.length > 0 && !mailFromDomains.includes(domain))
  if (outside !== undefined)
    throw new AppError('validation_error', `${outside}: MAIL_FROM_DOMAINS does not allow this domain`)
  return inTransaction(ctx, async (ctx) => {
    const { workspaceId } = ctx
    const [workspace] = await ctx.db
      .select({ id: workspaces.id })
      .from(workspaces)
      .where(and(eq(workspaces.id, workspaceId), isNull(workspaces.deletedAt)))
      .for('no key update')
    if (!workspace) throw notFound('Workspace')
    await ctx.db.delete(senderDomains).where(eq(senderDomains.workspaceId, workspaceId))
    const rows = [...new Set(domains)].map((domain) => ({ workspaceId, domain }))
    if (rows.length > 0) await ctx.db.insert(senderDomains).values(rows)
    await audit(ctx, 'workspace.senders_changed', { subjectId: workspaceId, domains: domains.join(',') })
  })
}
