import { and, eq, isNull, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { workspaces } from '../db/schema/index.ts'
import { notFound } from '../kernel/errors.ts'
import type { QuotaName } from '../kernel/quotas.ts'
import { type Ctx, inTransaction } from '../request/context.ts'

/**
 * Sets quotas of one workspace, for the operator; 0 means no limit. A quota that is null applies again as for the whole
 * installation. Throws `not_found`.
 */
export function setQuotas(ctx: Ctx, quotas: Partial<Record<QuotaName, number | null>>): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .update(workspaces)
      .set({ quotas: sql`jsonb_strip_nulls(${workspaces.quotas} || ${JSON.stringify(quotas)}::jsonb)` })
      .where(and(eq(workspaces.id, ctx.workspaceId), isNull(workspaces.deletedAt)))
      .returning({ id: workspaces.id })
    if (!row) throw notFound('Workspace')
    await audit(ctx, 'workspace.quotas_changed', { subjectId: ctx.workspaceId, ...quotas })
  })
}
