import { and, eq, inArray, isNotNull, not, or, sql } from 'drizzle-orm'
import type { ContactRow } from '../contacts/contact-record.ts'
import { subscriptions } from '../db/schema/index.ts'
import { emitMany } from '../events/emit.ts'
import { type ReportedConsent, type ConsentSource, givenConsent, withConsent } from '../subscriptions/consent.ts'
import { recordSubscriptionActivity } from '../subscriptions/subscribed-status.ts'
import { subscriptionConfirmed, subscriptionCreated } from '../subscriptions/subscription-events.ts'
import { readSubscriptionsToList } from '../subscriptions/subscription-record.ts'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, bool, jsonb, timestamptz } from '../db/statements/sql-types.ts'
import { type ContactId, type ListId, uuidOf } from '../kernel/ids.ts'
import { lockList } from './lists.ts'
import { findSuppressions } from '../subscriptions/find-suppressions.ts'

/** A contact that consented elsewhere. */
export interface ConsentingContact extends Pick<ContactRow, 'id' | 'email'> {
  reported?: ReportedConsent | undefined
}

interface BulkSubscription {
  listId: ListId
  /** Locked, so that no contact opts out meanwhile, and its status is derived from all of its subscriptions. */
  contacts: readonly ConsentingContact[]
  /** The import that reports the consent, and the user or API key that started it. */
  reportedBy?: Pick<ConsentSource, 'importId' | 'actorId'>
  /** Whether to emit the events that subscribing each of the contacts as CONFIRMED emits. */
  emitsEvents?: boolean
  /** Decides without writing: new contacts need not exist. */
  isDryRun?: boolean
}

/**
 * Confirms contacts on a list, after they have consented elsewhere, even if the operator removed
 * them from it. A contact that opted out or complained keeps its status. An email against which anything stands is
 * skipped. Returns the contacts that are confirmed then, also those that were before. Throws `not_found` if the list does
 * not exist.
 */
export async function confirmSubscribers(
  ctx: Ctx,
  { listId, contacts, reportedBy, emitsEvents = false, isDryRun = false }: BulkSubscription,
): Promise<Set<ContactId>> {
  if (!(await lockList(ctx, listId))) throw notFound('List')
  const allowed = await selectAllowed(ctx, listId, contacts)
  const subscribed = new Set(allowed.map(({ id }) => id))
  if (allowed.length === 0 || isDryRun) return subscribed
  const now = new Date()
  const consents = allowed.map(({ email, reported }) =>
    givenConsent(ctx, email, { method: 'IMPORT', ...reportedBy, reported }),
  )
  const changed = await confirm(ctx.db, {
    workspaceId: ctx.workspaceId,
    listId,
    contactIds: allowed.map(({ id }) => id),
    consents: consents.map((consent) => JSON.stringify([consent])),
    confirmedAt: allowed.map(({ reported }) => reported?.at ?? now),
    now,
  })
  if (changed.length === 0) return subscribed
  const confirmed = changed.map(({ contactId }) => contactId)
  await recordSubscriptionActivity(ctx, confirmed)
  if (!emitsEvents) return subscribed
  const records = await readSubscriptionsToList(ctx, listId, confirmed)
  const newIds = new Set(changed.filter(({ isNew }) => isNew).map(({ contactId }) => contactId))
  await emitMany(
    ctx,
    subscriptionCreated,
    records.filter(({ contactId }) => newIds.has(contactId)),
  )
  await emitMany(ctx, subscriptionConfirmed, records)
  return subscribed
}

/** The contacts that have neither opted out of the list themselves nor an address against which anything stands. */
async function selectAllowed(ctx: Ctx, listId: ListId, contacts: readonly ConsentingContact[]) {
  const suppressed = await findSuppressions(ctx, { listId, emails: contacts.map(({ email }) => email) })
  const { workspaceId, contactId, status, isRemoved, unsubscribedAt } = subscriptions
  const ids = contacts.map(({ id }) => uuidOf(id))
  const optedOut = await ctx.db
    .select({ contactId })
    .from(subscriptions)
    .where(
      and(
        eq(workspaceId, ctx.workspaceId),
        eq(subscriptions.listId, listId),
        sql`${contactId} = any(${sql.param(ids)}::uuid[])`,
        not(isRemoved),
        or(inArray(status, ['UNSUBSCRIBED', 'COMPLAINED']), and(eq(status, 'BOUNCED'), isNotNull(unsubscribedAt))),
      ),
    )
  const refused = new Set(optedOut.map((row) => row.contactId))
  return contacts.filter(({ id, email }) => !suppressed.has(email) && !refused.has(id))
}

const confirm = namedStatement('confirm subscribers', {
  params: {
    workspaceId: subscriptions.workspaceId,
    listId: subscriptions.listId,
    contactIds: arrayOf(subscriptions.contactId),
    consents: arrayOf(jsonb<string>()),
    confirmedAt: arrayOf(timestamptz),
    now: timestamptz,
  },
  columns: { contactId: subscriptions.contactId, isNew: bool },
  sql: ({ workspaceId, listId, contactIds, consents, confirmedAt, now }) => sql`
    with prior as materialized (
      select contact_id, is_removed or status = 'BOUNCED' as is_removed from subscriptions
      where workspace_id = ${workspaceId} and list_id = ${listId} and contact_id = any(${contactIds})),
    confirmed as (
      insert into subscriptions as s (workspace_id, list_id, contact_id, status, source, confirmed_at, consent, created_at)
      select ${workspaceId}, ${listId}, id, 'CONFIRMED', 'import', confirmed_at, consent, ${now}
      from unnest(${contactIds}, ${consents}, ${confirmedAt}) as contact (id, consent, confirmed_at)
      on conflict (workspace_id, list_id, contact_id) do update
      set status = 'CONFIRMED', confirmed_at = excluded.confirmed_at, unsubscribed_at = null, is_removed = false,
        replaced_status = null, consent = ${withConsent(sql`excluded.consent`, sql`s.consent`)}
      where s.status <> 'CONFIRMED'
      returning s.contact_id)
    select contact_id, coalesce(prior.is_removed, true) as is_new from confirmed left join prior using (contact_id)`,
})
