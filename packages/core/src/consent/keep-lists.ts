import { and, eq, inArray, isNull } from 'drizzle-orm'
import { lists } from '../db/schema/index.ts'
import type { ListId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

/**
 * Returns those of the lists that exist. Their rows remain until the transaction ends, for what refers to them; a concurrent
 * deletion does not wait, as it marks the row only.
 */
export async function keepLists(ctx: Ctx, ids: readonly ListId[]): Promise<Set<ListId>> {
  if (ids.length === 0) return new Set()
  const rows = await ctx.db
    .select({ id: lists.id })
    .from(lists)
    .where(and(eq(lists.workspaceId, ctx.workspaceId), inArray(lists.id, [...new Set(ids)]), isNull(lists.deletedAt)))
    .for('key share')
  return new Set(rows.map(({ id }) => id))
}
