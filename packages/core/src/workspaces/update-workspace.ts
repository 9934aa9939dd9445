import { isDeepStrictEqual } from 'node:util'
import { eq } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { lockWorkspace, readWorkspace, toWorkspace } from './workspaces.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { checkNewSender } from '../domains/senders.ts'
import { timeAtLeast } from '../db/schema/columns.ts'
import { workspaces } from '../db/schema/index.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import type { Workspace, WorkspaceChange } from './workspaces.schema.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/** Updates the given fields. Without a difference, neither `updatedAt` nor the audit log changes. */
export async function updateWorkspace(ctx: Ctx, change: WorkspaceChange): Promise<Workspace> {
  await checkNewSender(ctx, change.fromEmail)
  return inTransaction(ctx, async (ctx) => {
    await lockWorkspace(ctx)
    const current = await readWorkspace(ctx)
    if (isDeepStrictEqual({ ...current, ...withoutUndefined(change) }, current)) return current
    const [row] = await ctx.db
      .update(workspaces)
      .set({ ...change, updatedAt: timeAtLeast(workspaces.updatedAt, timestampNow()) })
      .where(eq(workspaces.id, ctx.workspaceId))
      .returning()
    if (!row) return current
    await audit(ctx, 'workspace.changed', { subjectId: row.id, ...change })
    return toWorkspace(row)
  })
}
