import { and, eq, ne, sql } from 'drizzle-orm'
import { subscriptions } from '../db/schema/index.ts'
import type { ContactId, ListId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { deleteOptOut } from './opt-outs.ts'
import { removeReasons } from './store-suppressions.ts'
import { isByPerson } from './suppression-reasons.ts'

/**
 * Lifts what a person said about mails to their address, after they subscribed to a list by an emailed link: the opt-out
 * of that list, the opt-out of all lists, and complaints. Other lists remain unsubscribed. The caller has locked the
 * contact.
 */
export async function liftOptOuts(ctx: Ctx, listId: ListId, contact: { id: ContactId; email: string }): Promise<void> {
  await deleteOptOut(ctx, listId, contact.email)
  await removeReasons(ctx, contact.email, isByPerson)
  await ctx.db
    .update(subscriptions)
    .set({
      status: 'UNSUBSCRIBED',
      unsubscribedAt: sql`coalesce(${subscriptions.unsubscribedAt}, ${new Date().toISOString()})`,
    })
    .where(
      and(
        eq(subscriptions.workspaceId, ctx.workspaceId),
        eq(subscriptions.contactId, contact.id),
        ne(subscriptions.listId, listId),
        eq(subscriptions.status, 'COMPLAINED'),
      ),
    )
}
