import { and, eq, type GetColumnData, type SQL } from 'drizzle-orm'
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
