import { and, eq, sql } from 'drizzle-orm'
import type { ContactRow } from '../contacts/contact-record.ts'
import { subscriptions } from '../db/schema/index.ts'
import { emitMany } from '../events/emit.ts'
import { type ConsentSource, givenConsent, withConsent } from '../subscriptions/consent.ts'
import { recordSubscriptionActivity } from '../subscriptions/subscribed-status.ts'
import { subscriptionConfirmed, subscriptionCreated } from '../subscriptions/subscription-events.ts'
import { subscriptionColumns, toSubscription } from '../subscriptions/subscription-record.ts'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, bool, jsonb, timestamptz } from '../db/statements/sql-types.ts'
import { type ContactId, type ListId, uuidOf } from '../kernel/ids.ts'
import { lockList } from './lists.ts'
import { findSuppressions } from '../subscriptions/find-suppressions.ts'

interface ConfirmedSubscribers {
  confirmed: ContactId[]
  created: ContactId[]
}

interface BulkSubscription {
  listId: ListId
  /** Locked, so that their status is derived from all subscriptions. */
  contacts: readonly Pick<ContactRow, 'id' | 'email'>[]
  /** The import that reports the consent, and the user or API key that started it. */
  reportedBy?: Pick<ConsentSource, 'importId' | 'actorId'>
}

/**
 * Confirms contacts on a list, after they have consented elsewhere, even if the operator removed
 * them from it. A contact that opted out or complained keeps its status. An email against which anything stands is
 * skipped. Emits no events. Returns the contacts whose subscription changed, and those of them that were not
 * PENDING. Throws `not_found` if the list does not exist.
 */
export async function confirmSubscribers(
  ctx: Ctx,
  { listId, contacts, reportedBy }: BulkSubscription,
): Promise<ConfirmedSubscribers> {
  if (!(await lockList(ctx, listId))) throw notFound('List')
  const suppressed = await findSuppressions(ctx, { listId, emails: contacts.map(({ email }) => email) })
  const allowed = contacts.filter(({ email }) => !suppressed.has(email))
  if (allowed.length === 0) return { confirmed: [], created: [] }
  const consents = allowed.map(({ email }) => [givenConsent(ctx, email, { method: 'IMPORT', ...reportedBy })])
  const changed = await confirm(ctx.db, {
    workspaceId: ctx.workspaceId,
    listId,
    contactIds: allowed.map(({ id }) => id),
    consents: consents.map((consent) => JSON.stringify(consent)),
    now: new Date(),
  })
  const confirmed = changed.map(({ contactId }) => contactId)
  if (confirmed.length > 0) await recordSubscriptionActivity(ctx, confirmed)
  return { confirmed, created: changed.filter(({ isNew }) => isNew).map(({ contactId }) => contactId) }
}

const confirm = namedStatement('confirm subscribers', {
  params: {
    workspaceId: subscriptions.workspaceId,
    listId: subscriptions.listId,
    contactIds: arrayOf(subscriptions.contactId),
    consents: arrayOf(jsonb<string>()),
    now: timestamptz,
  },
  columns: { contactId: subscriptions.contactId, isNew: bool },
  sql: ({ workspaceId, listId, contactIds, consents, now }) => sql`
    with prior as materialized (
      select contact_id, is_removed or status = 'BOUNCED' as is_removed from subscriptions
      where workspace_id = ${workspaceId} and list_id = ${listId} and contact_id = any(${contactIds})),
    confirmed as (
      insert into subscriptions as s (workspace_id, list_id, contact_id, status, source, confirmed_at, consent, created_at)
      select ${workspaceId}, ${listId}, id, 'CONFIRMED', 'import', ${now}, consent, ${now}
      from unnest(${contactIds}, ${consents}) as contact (id, consent)
      on conflict (workspace_id, list_id, contact_id) do update
      set status = 'CONFIRMED', confirmed_at = excluded.confirmed_at, unsubscribed_at = null, is_removed = false,
        replaced_status = null, consent = ${withConsent(sql`excluded.consent`, sql`s.consent`)}
      where s.status = 'PENDING' or s.is_removed or (s.status = 'BOUNCED' and s.unsubscribed_at is null)
      returning s.contact_id)
    select contact_id, coalesce(prior.is_removed, true) as is_new from confirmed left join prior using (contact_id)`,
})

/** Emits the events that subscribing each of these contacts as CONFIRMED emits. */
export async function emitConfirmed(
  ctx: Ctx,
  listId: ListId,
  { confirmed, created }: ConfirmedSubscribers,
): Promise<void> {
  if (confirmed.length === 0) return
  const rows = await ctx.db
    .select(subscriptionColumns)
    .from(subscriptions)
    .where(
      and(
        eq(subscriptions.workspaceId, ctx.workspaceId),
        eq(subscriptions.listId, listId),
        sql`${subscriptions.contactId} = any(${sql.param(confirmed.map(uuidOf))}::uuid[])`,
      ),
    )
    .orderBy(subscriptions.contactId)
  const records = rows.map(toSubscription)
  const createdIds = new Set<string>(created)
  const newRecords = records.filter(({ contactId }) => createdIds.has(contactId))
  await emitMany(ctx, subscriptionCreated, newRecords)
  await emitMany(ctx, subscriptionConfirmed, records)
}
