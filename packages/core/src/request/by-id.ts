import { and, eq, type GetColumnData, type SQL, sql } from 'drizzle-orm'
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

/** How many records `lockInOrder` locks with one statement: no index has their order, so each statement sorts all. */
const lockedTogether = 10_000

/**
 * Returns a function that returns the UUIDs of the next `limit` records that meet `where`. They are locked until the
 * transaction ends, in the order of their ids, as two changes of several of them would deadlock in different orders. It
 * never reads what it has locked again, of which the transaction leaves dead rows.
 */
export function lockInOrder(
  table: AnyPgTable & { workspaceId: AnyPgColumn; id: AnyPgColumn },
  ctx: Ctx,
  where: SQL | undefined,
): (limit: number) => Promise<string[]> {
  let last: string | undefined
  const next: string[] = []
  const lockMore = async () => {
    const locked = await ctx.db
      .select({ id: table.id })
      .from(table)
      .where(and(eq(table.workspaceId, ctx.workspaceId), where, last ? sql`${table.id} > ${last}::uuid` : undefined))
      .orderBy(table.id)
      .limit(lockedTogether)
      .for('no key update')
    next.push(...locked.map(({ id }) => uuidOf(id as IdOf<IdPrefix>)))
    last = next.at(-1) ?? last
  }
  return async (limit) => {
    if (next.length < limit) await lockMore()
    return next.splice(0, limit)
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
