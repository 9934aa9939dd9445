import { and, eq, sql } from 'drizzle-orm'
import { subscriptions } from '../db/schema/index.ts'
import type { Ctx } from '../request/context.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { bool } from '../db/statements/sql-types.ts'
import type { ContactId } from '../kernel/ids.ts'
import { emitUnsubscribed, isSuspended } from '../subscriptions/apply-suppressions.ts'

/**
 * Moves the subscriptions of a merged contact to the remaining contact. If both have a subscription to a list, an
 * opt-out wins; of two opt-outs, the stricter one. A removal by the operator is weaker than an opt-out. What a bounce or
 * a block suspended moves as it was before: a bounce concerns the address that is lost, and a block, which is copied to
 * the other address, suspends it again. Where the merged contact wins, `subscription.unsubscribed` is emitted. The proofs
 * of consent of both are kept. Returns whether anything moved.
 */
export async function moveSubscriptions(ctx: Ctx, contacts: { from: ContactId; to: ContactId }): Promise<boolean> {
  const { workspaceId } = ctx
  await moveConsents(ctx.db, { workspaceId, ...contacts })
  const moved = await moveToOther(ctx.db, { workspaceId, ...contacts })
  await deleteSubscriptionsOfContact(ctx, contacts.from)
  const ended = moved.filter(({ isNew }) => !isNew)
  await emitUnsubscribed(
    ctx,
    ended.map(({ listId }) => ({ listId, contactId: contacts.to })),
  )
  return moved.length > 0
}

const params = {
  workspaceId: subscriptions.workspaceId,
  from: subscriptions.contactId,
  to: subscriptions.contactId,
}

const moveConsents = namedStatement('move proofs of consent', {
  params,
  sql: ({ workspaceId, from, to }) => sql`
    update subscriptions kept set consent = coalesce(kept.consent, '[]') || moved.consent
    from subscriptions moved
    where kept.workspace_id = ${workspaceId} and kept.contact_id = ${to}
      and moved.workspace_id = kept.workspace_id and moved.list_id = kept.list_id
      and moved.contact_id = ${from} and moved.consent is not null`,
})

const strictness = (row: 'excluded' | 'kept') =>
  sql.raw(`array_position(array['CONFIRMED', 'PENDING', 'removed', 'BOUNCED', 'UNSUBSCRIBED', 'COMPLAINED'],
    case when ${row}.is_removed then 'removed' else ${row}.status end)`)

const moveToOther = namedStatement('move subscriptions', {
  params,
  columns: { listId: subscriptions.listId, isNew: bool },
  sql: ({ workspaceId, from, to }) => sql`
    insert into subscriptions as kept
      (workspace_id, list_id, contact_id, status, source, confirmed_at, consent, unsubscribed_at, is_removed, created_at)
    select workspace_id, list_id, ${to}, case when ${isSuspended} then replaced_status else status end, source,
      confirmed_at, consent, case when not ${isSuspended} then unsubscribed_at end, is_removed and not ${isSuspended},
      created_at
    from subscriptions
    where workspace_id = ${workspaceId} and contact_id = ${from}
    on conflict (workspace_id, list_id, contact_id) do update
    set status = excluded.status, confirmed_at = excluded.confirmed_at, unsubscribed_at = excluded.unsubscribed_at,
      is_removed = excluded.is_removed, replaced_status = null
    where excluded.status in ('UNSUBSCRIBED', 'COMPLAINED')
      and ${strictness('excluded')} > ${strictness('kept')}
    returning list_id, xmax = 0 as is_new`,
})

/** Deletes the subscriptions of a locked contact. Store its opt-outs first, with `storeOptOutsOfContact`. */
export async function deleteSubscriptionsOfContact(ctx: Ctx, contactId: ContactId): Promise<void> {
  const isOfContact = and(eq(subscriptions.workspaceId, ctx.workspaceId), eq(subscriptions.contactId, contactId))
  await ctx.db.delete(subscriptions).where(isOfContact)
}
