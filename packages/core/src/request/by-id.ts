import { and, eq, type GetColumnData, type SQL } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import type { Ctx } from './context.ts'

/** The condition for one record of the workspace in `ctx`. The type of the id must match the table. */
export function byId<Id extends AnyPgColumn>(
  table: { workspaceId: AnyPgColumn; id: Id },
  ctx: Ctx,
  id: GetColumnData<NoInfer<Id>, 'raw'>,
): SQL | undefined {
  return and(eq(table.workspaceId, ctx.workspaceId), eq(table.id, id))
}
