import { and, eq, type GetColumnData, inArray, type SQL } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import type { Ctx } from './context.ts'

/** The condition for one record of the workspace in `ctx`. The type of the id must match the table. */
export function byId<Id extends AnyPgColumn>(
  table: { workspaceId: AnyPgColumn; id: Id },
  ctx: Ctx,
  id: GetColumnData<NoInfer<Id>, 'raw'>,
): SQL | undefined {
  return and(eq(table.workspaceId, ctx.workspaceId), eq(table.id, id))
}

/** The condition for the first `limit` records of the workspace that meet `where`. */
export function isAmongFirst(
  table: AnyPgTable & { workspaceId: AnyPgColumn; id: AnyPgColumn },
  ctx: Ctx,
  { where, limit }: { where: SQL; limit: number },
): SQL | undefined {
  const ofWorkspace = eq(table.workspaceId, ctx.workspaceId)
  const first = ctx.db.select({ id: table.id }).from(table).where(and(ofWorkspace, where)).limit(limit)
  return and(ofWorkspace, inArray(table.id, first))
}

/**
 * Locks a record until the transaction ends, so that what the transaction reads of it stays true. Does nothing if the
 * record does not exist.
 */
export async function lockById<Id extends AnyPgColumn>(
  table: AnyPgTable & { workspaceId: AnyPgColumn; id: Id },
  ctx: Ctx,
  id: GetColumnData<NoInfer<Id>, 'raw'>,
): Promise<void> {
  await ctx.db
    .select({ id: table.id })
    .from(table)
    .where(byId(table, ctx, id))
    .for('no key update')
}
