import { contacts } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'

/** Deletes a locked contact itself. Its records in other slices are deleted or moved before: see `operations/`. */
export async function deleteContactRow(ctx: Ctx, id: ContactId): Promise<void> {
  await ctx.db.delete(contacts).where(byId(contacts, ctx, id))
}
