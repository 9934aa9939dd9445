import { and, eq, type GetColumnData, inArray, type SQL, sql } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import { type IdOf, type IdPrefix, uuidOf } from '../kernel/ids.ts'
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
 * Returns a function that locks the next `limit` records that meet `where` until the transaction ends, in the order of
 * their ids, and returns their UUIDs. It never reads what it has locked again, of which the transaction leaves dead rows.
 * For records that no lock of a contact guards: two changes of several of them would deadlock in different orders.
 */
export function lockInOrder(
  table: AnyPgTable & { workspaceId: AnyPgColumn; id: AnyPgColumn },
  ctx: Ctx,
  where: SQL | undefined,
): (limit: number) => Promise<string[]> {
  let last: string | undefined
  return async (limit) => {
    const locked = await ctx.db
      .select({ id: table.id })
      .from(table)
      .where(and(eq(table.workspaceId, ctx.workspaceId), where, last ? sql`${table.id} > ${last}::uuid` : undefined))
      .orderBy(table.id)
      .limit(limit)
      .for('no key update')
    const ids = locked.map(({ id }) => uuidOf(id as IdOf<IdPrefix>))
    last = ids.at(-1) ?? last
    return ids
  }
}

/** The condition for records of the workspace by their UUIDs. */
export const isOneOf = (
  table: { workspaceId: AnyPgColumn; id: AnyPgColumn },
  ctx: Pick<Ctx, 'workspaceId'>,
  uuids: readonly string[],
): SQL | undefined =>
  and(eq(table.workspaceId, ctx.workspaceId), sql`${table.id} = any(${sql.param([...uuids])}::uuid[])`)

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
