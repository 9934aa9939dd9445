import { eq, sql } from 'drizzle-orm'
import type { Workspace } from '../auth/auth.schema.ts'
import { readWorkspace, toWorkspace } from '../auth/workspaces.ts'
import type { Ctx } from '../context.ts'
import { workspaces } from '../schema.ts'
import type { WorkspaceChange } from './team.schema.ts'

/** Sets what the change names. */
export async function changeWorkspace(ctx: Ctx, change: WorkspaceChange): Promise<Workspace> {
  if (Object.values(change).every((value) => value === undefined)) return readWorkspace(ctx)
  const [row] = await ctx.db
    .update(workspaces)
    .set({ ...change, updatedAt: sql`now()` })
    .where(eq(workspaces.id, ctx.workspaceId))
    .returning()
  return row ? toWorkspace(row) : readWorkspace(ctx)
}
