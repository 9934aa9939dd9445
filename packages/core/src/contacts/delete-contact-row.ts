import { contacts } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'

/** Deletes a locked contact's row, after its records in other slices were deleted or moved: see `operations/`. */
export async function deleteContactRow(ctx: Ctx, id: ContactId): Promise<void> {
  await ctx.db.delete(contacts).where(byId(contacts, ctx, id))
}
