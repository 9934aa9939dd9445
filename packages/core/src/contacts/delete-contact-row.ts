import { and, eq } from 'drizzle-orm'
import { contacts } from '../db/schema/index.ts'
import type { Ctx } from '../request/context.ts'

/** Deletes a locked contact itself. Its records in other slices are deleted or moved before: see `operations/`. */
export async function deleteContactRow(ctx: Ctx, id: string): Promise<void> {
  await ctx.db.delete(contacts).where(and(eq(contacts.workspaceId, ctx.workspaceId), eq(contacts.id, id)))
}
