/** Manages the subscribers of a list for the API. */
import { and, eq, exists, inArray, notExists, type SQL } from 'drizzle-orm'
import { type AddressedContact, listRows, lockConsent, setSubscription, toKey } from '../consent/consent-records.ts'
import { restoreLostRows, withLostRows } from '../consent/lost-rows.ts'
import { hasLeft, type SubscriptionState } from '../consent/derive-status.ts'
import { deriveStatuses } from '../consent/derive-statuses.ts'
import { givenConsent, withProof } from '../consent/proofs.ts'
import {
  findSubscription,
  subscriptionColumns,
  type SubscriptionRow,
  toSubscription,
} from '../consent/subscription-record.ts'
import type { Subscription } from '../consent/subscriptions.schema.ts'
import { createSuppressedError, type SuppressionRow } from '../consent/suppression-rows.ts'
import { lockContact } from '../contacts/lock-contact.ts'
import { findOrCreateContact } from '../contacts/upsert-contact.ts'
import { mails, subscriptions, visitorMails } from '../db/schema/index.ts'
import { conflict, invalidField, notFound } from '../kernel/errors.ts'
import type { ContactId, ListId } from '../kernel/ids.ts'
import { replaceWaitingMail } from '../mail/budget/visitor-mails.ts'
import { isAskedOf } from '../mail/budget/withheld-confirmations.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { inRounds } from '../request/in-rounds.ts'
import { type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { lockList, requireList } from './lists.ts'
import type { SubscriberInput, SubscriberQuery } from './lists.schema.ts'
import { askByMail, requireNotOvertaken, setPending } from './subscribe.ts'

/** Lists the subscriptions of a list, of one status or of all. */
export async function listSubscribers(ctx: Ctx, listId: ListId, query: SubscriberQuery): Promise<Page<Subscription>> {
  await requireList(ctx, listId)
  const hasStatus = query.status && eq(subscriptions.status, query.status)
  const page = await readPage<SubscriptionRow>(ctx, {
    name: `subscribers ${listId} ${query.status ?? ''} ${query.withheld ?? ''}`,
    query,
    key: { column: subscriptions.createdAt, type: 'timestamptz', valueOf: (row) => row.createdAt },
    id: { column: subscriptions.contactId, valueOf: (row) => row.contactId },
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select(subscriptionColumns)
        .from(subscriptions)
        .where(
          and(
            eq(subscriptions.workspaceId, ctx.workspaceId),
            eq(subscriptions.listId, listId),
            hasStatus,
            query.withheld === undefined ? undefined : isWithheld(ctx, query.withheld),
            isCreatedInRange(subscriptions, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toSubscription) }
}

/** A condition on a subscription: whether its confirmation waits for the budget, or was given up. */
function isWithheld(ctx: Ctx, isTrue: boolean): SQL {
  const withheld = ctx.db
    .select({ id: mails.id })
    .from(visitorMails)
    .innerJoin(mails, eq(mails.workspaceId, visitorMails.workspaceId))
    // Not a condition of the join: PostgreSQL would ask for each subscription of the list.
    .where(and(isAskedOf(ctx), inArray(visitorMails.status, ['WITHHELD', 'GIVEN_UP'])))
  return isTrue ? exists(withheld) : notExists(withheld)
}

/**
 * Subscribes a contact by id or email, even if the operator removed it from the list. CONFIRMED states that the contact
 * has consented; PENDING sends a confirmation email; the default depends on the list. Throws `opted_out` if the contact
 * has opted out or its address is suppressed. A CONFIRMED subscription is unchanged. `isNew` is false if the contact
 * was PENDING or CONFIRMED.
 */
export function addSubscriber(
  ctx: Ctx,
  listId: ListId,
  input: SubscriberInput,
): Promise<{ subscription: Subscription; isNew: boolean }> {
  return inRounds(ctx, async (ctx) => {
    const { doubleOptIn } = await requireList(ctx, listId)
    const { status = doubleOptIn ? 'PENDING' : 'CONFIRMED' } = input
    const contact = await findContact(ctx, input)
    if (!(await lockList(ctx, listId))) throw notFound('List')
    const key = { listId, contactId: contact.id }
    const records = await lockConsent(ctx, { contacts: [contact], mode: 'shared' })
    const current = records.subscriptions.get(toKey(key))
    const rows = listRows(withLostRows(ctx, records), contact.email, listId)
    requireAllowed(rows, current)
    const isNew = !current || current.ownStatus === 'REMOVED'
    const request = { listId, contact, source: 'api', consent: { method: 'API' } as const }
    // A CONFIRMED subscription needs no link, so none can be too old.
    if (status === 'PENDING') requireNotOvertaken(records, { email: contact.email, listId, state: current })
    const state = isNew ? setPending(ctx, records, { ...request, at: records.startedAt }) : current
    if (status === 'CONFIRMED' && state.ownStatus === 'PENDING') {
      const proof = givenConsent(ctx, contact.email, request.consent)
      const confirmed = { ownStatus: 'CONFIRMED', ownStatusAt: records.now, confirmedAt: records.now } as const
      setSubscription(records, { ...state, ...confirmed, consent: withProof(state.consent, proof) })
    }
    if (status === 'PENDING' && state.ownStatus === 'PENDING') {
      const isAfterRemoval = current?.ownStatus === 'REMOVED'
      await askByMail(ctx, records, { request, rows, asked: state, isNew, isAfterRemoval })
    }
    await deriveStatuses(ctx, records, { widens: (one) => toKey(one) === toKey(key) })
    const row = await findSubscription(ctx, key)
    if (!row) throw notFound('List')
    return { subscription: toSubscription(row), isNew }
  })
}

/** A caller's word holds only where nothing else was said. */
function requireAllowed(rows: readonly SuppressionRow[], current: SubscriptionState | undefined): void {
  if (hasLeft(current, rows)) throw hasOptedOutOfList()
  if (rows.length > 0) throw createSuppressedError(rows)
}

export async function readSubscriber(ctx: Ctx, listId: ListId, contactId: ContactId): Promise<Subscription> {
  await requireList(ctx, listId)
  const row = await findSubscription(ctx, { listId, contactId })
  if (!row) throw notFound('Subscription')
  return toSubscription(row)
}

/** Removes a contact from the list, and keeps its subscription as UNSUBSCRIBED. This is not an opt-out. Idempotent. */
export function removeSubscriber(ctx: Ctx, listId: ListId, contactId: ContactId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    await requireList(ctx, listId)
    const contact = await lockContact(ctx, contactId)
    if (!contact) throw notFound('Subscription')
    const records = await lockConsent(ctx, { contacts: [contact], mode: 'exclusive' })
    const state = records.subscriptions.get(toKey({ listId, contactId }))
    if (!state) throw notFound('Subscription')
    restoreLostRows(ctx, records)
    setSubscription(records, { ...state, ownStatus: 'REMOVED', ownStatusAt: records.now })
    await deriveStatuses(ctx, records)
    // A confirmation that waits for the budget has nothing left to confirm, and would still be counted.
    await replaceWaitingMail(ctx, { kind: 'CONFIRMATION', contactId, listId })
  })
}

const hasOptedOutOfList = () =>
  conflict('opted_out', 'Contact has opted out of this list; only the contact can opt in again')

async function findContact(ctx: Ctx, input: SubscriberInput): Promise<AddressedContact> {
  if (input.email !== undefined) return findOrCreateContact(ctx, { email: input.email })
  const contact = input.contactId && (await lockContact(ctx, input.contactId))
  if (!contact) throw invalidField('contactId', 'Contact not found')
  return contact
}
