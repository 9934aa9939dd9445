import { and, eq, type SQL } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import type { Ctx } from './context.ts'

/** The condition for one record of the context's workspace. */
export function byId(table: Record<'workspaceId' | 'id', AnyPgColumn>, ctx: Ctx, id: string): SQL | undefined {
  return and(eq(table.workspaceId, ctx.workspaceId), eq(table.id, id))
}
