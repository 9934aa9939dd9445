import { and, eq, sql } from 'drizzle-orm'
import { subscriptions } from '../db/schema/index.ts'
import type { Ctx } from '../request/context.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'

/**
 * Moves the subscriptions of a merged contact to the remaining contact. If both have a subscription to a list, an
 * opt-out wins; of two opt-outs, the stricter one. Returns whether anything moved.
 */
export async function moveSubscriptions(ctx: Ctx, contacts: { from: ContactId; to: ContactId }): Promise<boolean> {
  const strictness = (status: string) =>
    sql.raw(`array_position(array['CONFIRMED', 'PENDING', 'UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'], ${status})`)
  const moved = await ctx.db.execute(sql`
    insert into subscriptions as kept
      (workspace_id, list_id, contact_id, status, source, confirmations_requested_at, confirmed_at, unsubscribed_at, created_at)
    select workspace_id, list_id, ${uuidOf(contacts.to)}::uuid, status, source, confirmations_requested_at, confirmed_at,
      unsubscribed_at, created_at
    from subscriptions
    where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = ${uuidOf(contacts.from)}
    on conflict (workspace_id, list_id, contact_id) do update
    set status = excluded.status, confirmed_at = excluded.confirmed_at, unsubscribed_at = excluded.unsubscribed_at
    where excluded.status in ('UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED')
      and ${strictness('excluded.status')} > ${strictness('kept.status')}`)
  await deleteSubscriptionsOfContact(ctx, contacts.from)
  return (moved.rowCount ?? 0) > 0
}

/** Deletes the subscriptions of a locked contact. Store its opt-outs first, with `storeOptOutsOfContact`. */
export async function deleteSubscriptionsOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  await ctx.db
    .delete(subscriptions)
    .where(and(eq(subscriptions.workspaceId, ctx.workspaceId), eq(subscriptions.contactId, contactId)))
}
