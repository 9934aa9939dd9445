/**
 * The operator suspends a workspace that misuses the installation: it can be read, but it sends and changes nothing.
 * Work that is enqueued waits until the workspace is resumed. Unsubscribing always works, because laws require it.
 */
import { and, eq, isNotNull, isNull } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { workspaces } from '../db/schema/index.ts'
import { requeueWorkOfWorkspace } from '../work/publish.ts'
import { notFound } from '../kernel/errors.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { type Timestamp, timestampNow } from '../kernel/values/timestamps.ts'

/** Suspends the workspace, for the operator. Idempotent. Throws `not_found`. */
export function suspendWorkspace(ctx: Ctx): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    if (await setSuspendedAt(ctx, timestampNow()))
      await audit(ctx, 'workspace.suspended', { subjectId: ctx.workspaceId })
  })
}

/** Ends the suspension, for the operator: work that waited is published again. Idempotent. Throws `not_found`. */
export function resumeWorkspace(ctx: Ctx): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    if (!(await setSuspendedAt(ctx, null))) return
    await requeueWorkOfWorkspace(ctx)
    await audit(ctx, 'workspace.resumed', { subjectId: ctx.workspaceId })
  })
}

/** Returns whether this changed the workspace. */
async function setSuspendedAt(ctx: Ctx, suspendedAt: Timestamp | null): Promise<boolean> {
  const isLive = and(eq(workspaces.id, ctx.workspaceId), isNull(workspaces.deletedAt))
  const isOther = suspendedAt ? isNull(workspaces.suspendedAt) : isNotNull(workspaces.suspendedAt)
  const changed = await ctx.db
    .update(workspaces)
    .set({ suspendedAt })
    .where(and(isLive, isOther))
    .returning({ id: workspaces.id })
  if (changed.length === 0 && (await ctx.db.$count(workspaces, isLive)) === 0) throw notFound('Workspace')
  return changed.length > 0
}
