import { and, eq } from 'drizzle-orm'
import { subscriptions } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'

/** Deletes the subscriptions of a locked contact. What it said about its address stays. */
export async function deleteSubscriptionsOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  const isOfContact = and(eq(subscriptions.workspaceId, ctx.workspaceId), eq(subscriptions.contactId, contactId))
  await ctx.db.delete(subscriptions).where(isOfContact)
}
