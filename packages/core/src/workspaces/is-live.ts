/**
 * What strangers reach ends with its workspace at once: forms, lists and the links in mails, though the worker takes the
 * records away only by and by. Credentials are gone by then.
 */
import { and, eq, isNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { workspaces } from '../db/schema/index.ts'

/** Of a record by its `workspace_id`, as part of the statement that looks it up. */
export function isInLiveWorkspace(workspaceId: SQLWrapper): SQL {
  return sql`not exists (select from workspaces live where live.id = ${workspaceId} and live.deleted_at is not null)`
}

export async function isLiveWorkspace(ctx: Ctx): Promise<boolean> {
  return (await ctx.db.$count(workspaces, and(eq(workspaces.id, ctx.workspaceId), isNull(workspaces.deletedAt)))) > 0
}
