/** What a file says about the subscriptions of many people, apart from confirmations. */
import { sql } from 'drizzle-orm'
import { subscriptions } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, text, timestamptz } from '../db/statements/sql-types.ts'
import { emitMany } from '../events/emit.ts'
import { notFound } from '../kernel/errors.ts'
import type { ContactId, ListId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { emitUnsubscribed } from '../subscriptions/apply-suppressions.ts'
import { storeOptOuts } from '../subscriptions/opt-outs.ts'
import { recordSubscriptionActivity } from '../subscriptions/subscribed-status.ts'
import { subscriptionCreated, subscriptionUnsubscribed } from '../subscriptions/subscription-events.ts'
import { readSubscriptionsToList } from '../subscriptions/subscription-record.ts'
import { lockList } from './lists.ts'

export interface ListOptOut {
  email: string
  /** The contact that has the address. */
  contactId: ContactId | undefined
  at: Date
}

interface BulkOptions {
  listId: ListId
  emitsEvents: boolean
}

/**
 * Stores opt-outs of addresses from a list, whether or not contacts have them, and ends the subscriptions of those that
 * do. The transaction has locked the contacts and the addresses. Throws `not_found` if the list does not exist.
 */
export async function optOutAddresses(
  ctx: Ctx,
  given: readonly ListOptOut[],
  { listId, emitsEvents }: BulkOptions,
): Promise<void> {
  if (given.length === 0) return
  if (!(await lockList(ctx, listId))) throw notFound('List')
  await storeOptOuts(
    ctx,
    listId,
    given.map(({ email }) => email),
  )
  // Of several rows about one contact, the first one counts.
  const momentOf = new Map<ContactId, Date>()
  for (const { contactId, at } of given) if (contactId && !momentOf.has(contactId)) momentOf.set(contactId, at)
  if (momentOf.size === 0) return
  const ended = await optOutSubscriptions(ctx.db, {
    workspaceId: ctx.workspaceId,
    listId,
    contactIds: [...momentOf.keys()],
    moments: [...momentOf.values()],
  })
  if (ended.length > 0)
    await recordSubscriptionActivity(
      ctx,
      ended.map(({ contactId }) => contactId),
    )
  if (emitsEvents) await emitUnsubscribed(ctx, ended)
}

const optOutSubscriptions = namedStatement('end subscriptions to a list', {
  params: {
    workspaceId: subscriptions.workspaceId,
    listId: subscriptions.listId,
    contactIds: arrayOf(subscriptions.contactId),
    moments: arrayOf(timestamptz),
  },
  columns: { contactId: subscriptions.contactId, listId: subscriptions.listId },
  sql: ({ workspaceId, listId, contactIds, moments }) => sql`
    update subscriptions s
    set status = 'UNSUBSCRIBED', unsubscribed_at = given.at, is_removed = false, replaced_status = null
    from unnest(${contactIds}, ${moments}) as given (contact_id, at)
    where s.workspace_id = ${workspaceId} and s.list_id = ${listId} and s.contact_id = given.contact_id
      and s.status <> 'COMPLAINED' and (s.status <> 'UNSUBSCRIBED' or s.is_removed)
    returning s.contact_id, s.list_id`,
})

export interface UnconfirmedSubscription {
  contactId: ContactId
  status: 'PENDING' | 'UNSUBSCRIBED'
  unsubscribedAt: Date | null
}

/**
 * Adds subscriptions that are not confirmed for locked contacts that have none. They show what the file says; a PENDING
 * contact gets no email.
 */
export async function addUnconfirmed(
  ctx: Ctx,
  given: readonly UnconfirmedSubscription[],
  { listId, emitsEvents }: BulkOptions,
): Promise<void> {
  if (given.length === 0) return
  const added = await insertUnconfirmed(ctx.db, {
    workspaceId: ctx.workspaceId,
    listId,
    contactIds: given.map(({ contactId }) => contactId),
    statuses: given.map(({ status }) => status),
    moments: given.map(({ unsubscribedAt }) => unsubscribedAt ?? new Date()),
    now: new Date(),
  })
  if (added.length === 0) return
  const ids = added.map(({ contactId }) => contactId)
  await recordSubscriptionActivity(ctx, ids)
  if (!emitsEvents) return
  const records = await readSubscriptionsToList(ctx, listId, ids)
  const withStatus = (status: string) => records.filter((record) => record.status === status)
  await emitMany(ctx, subscriptionCreated, withStatus('PENDING'))
  await emitMany(ctx, subscriptionUnsubscribed, withStatus('UNSUBSCRIBED'))
}

const insertUnconfirmed = namedStatement('add unconfirmed subscriptions', {
  params: {
    workspaceId: subscriptions.workspaceId,
    listId: subscriptions.listId,
    contactIds: arrayOf(subscriptions.contactId),
    statuses: arrayOf(text),
    moments: arrayOf(timestamptz),
    now: timestamptz,
  },
  columns: { contactId: subscriptions.contactId },
  sql: ({ workspaceId, listId, contactIds, statuses, moments, now }) => sql`
    insert into subscriptions (workspace_id, list_id, contact_id, status, source, unsubscribed_at, created_at)
    select ${workspaceId}, ${listId}, given.contact_id, given.status, 'import',
      case when given.status = 'UNSUBSCRIBED' then given.at end, ${now}
    from unnest(${contactIds}, ${statuses}, ${moments}) as given (contact_id, status, at)
    on conflict do nothing
    returning contact_id`,
})
