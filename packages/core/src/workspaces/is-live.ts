/**
 * A deleted workspace is not public any more: its forms, lists and email links stop working immediately, although the
 * worker deletes the records later. Its credentials are deleted immediately.
 */
import { and, eq, isNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { workspaces } from '../db/schema/index.ts'

/** A condition on the `workspace_id` of a record, for the statement that looks up the record. */
export function isInLiveWorkspace(workspaceId: SQLWrapper): SQL {
  return sql`not exists (select from workspaces live where live.id = ${workspaceId} and live.deleted_at is not null)`
}

export async function isLiveWorkspace(ctx: Pick<Ctx, 'db' | 'workspaceId'>): Promise<boolean> {
  return (await ctx.db.$count(workspaces, and(eq(workspaces.id, ctx.workspaceId), isNull(workspaces.deletedAt)))) > 0
}
