/** Manages the subscribers of a list for the API. */
import { and, eq } from 'drizzle-orm'
import { findOrCreateContact } from '../contacts/upsert-contact.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { conflict, invalidField, notFound } from '../kernel/errors.ts'
import type { ContactId, ListId } from '../kernel/ids.ts'
import { type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { subscriptions } from '../db/schema/index.ts'
import { requireList } from './lists.ts'
import type { SubscriberInput, SubscriberQuery } from './lists.schema.ts'
import { readSuppressions } from '../subscriptions/find-suppressions.ts'
import {
  findSubscription,
  subscriptionColumns,
  type SubscriptionRow,
  toSubscription,
} from '../subscriptions/subscription-record.ts'
import { confirmByCaller, removeByOperator, requestConfirmation, reopenAsPending } from './subscribe.ts'
import type { Subscription } from '../subscriptions/subscriptions.schema.ts'
import { lockContact } from '../contacts/lock-contact.ts'
import { createSuppressedError, isByPerson } from '../subscriptions/suppression-reasons.ts'

/** Lists the subscriptions of a list, of one status or of all. */
export async function listSubscribers(ctx: Ctx, listId: ListId, query: SubscriberQuery): Promise<Page<Subscription>> {
  await requireList(ctx, listId)
  const hasStatus = query.status && eq(subscriptions.status, query.status)
  const page = await readPage<SubscriptionRow>(ctx, {
    name: `subscribers ${listId} ${query.status ?? ''}`,
    query,
    key: { column: subscriptions.createdAt, type: 'timestamptz', valueOf: (row) => row.createdAt.toISOString() },
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
            isCreatedInRange(subscriptions, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toSubscription) }
}

/**
 * Subscribes a contact by id or email, even if the operator removed it from the list. CONFIRMED states that the contact
 * has consented; PENDING sends a confirmation email; the default depends on the list. Throws `opted_out` if the contact has opted out or anything stands
 * against its address. A CONFIRMED subscription is unchanged. `isNew` is false if the contact was PENDING or
 * CONFIRMED.
 */
export function addSubscriber(
  ctx: Ctx,
  listId: ListId,
  input: SubscriberInput,
): Promise<{ subscription: Subscription; isNew: boolean }> {
  return inTransaction(ctx, async (ctx) => {
    const { doubleOptIn } = await requireList(ctx, listId)
    const { status = doubleOptIn ? 'PENDING' : 'CONFIRMED' } = input
    const contact = await findContact(ctx, input)
    const link = { listId, contactId: contact.id }
    const existing = await findSubscription(ctx, link)
    const isNew = existing === undefined || canRestore(existing)
    const hasOptedOut = !isNew && existing.status !== 'PENDING' && existing.status !== 'CONFIRMED'
    const reasons = await readSuppressions(ctx, { email: contact.email, listId })
    if (hasOptedOut || reasons.some(isByPerson)) throw hasOptedOutOfList()
    if (reasons[0]) throw createSuppressedError(reasons[0])
    const subscribing = { link, email: contact.email, source: 'api', consent: { method: 'API' } as const }
    if (existing && isNew) await reopenAsPending(ctx, subscribing)
    if (status === 'CONFIRMED') await confirmByCaller(ctx, subscribing)
    else await requestConfirmation(ctx, subscribing)
    const row = await findSubscription(ctx, link)
    // The row is missing only if the list was deleted in the meantime.
    if (!row) throw notFound('List')
    return { subscription: toSubscription(row), isNew }
  })
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
    await lockContact(ctx, contactId)
    if (!(await findSubscription(ctx, { listId, contactId }))) throw notFound('Subscription')
    await removeByOperator(ctx, { listId, contactId })
  })
}

/**
 * Whether nothing of the contact's own ended the subscription: the operator removed it, or its former address bounced.
 */
function canRestore({ status, isRemoved, unsubscribedAt }: SubscriptionRow): boolean {
  return isRemoved || (status === 'BOUNCED' && unsubscribedAt === null)
}

const hasOptedOutOfList = () =>
  conflict('opted_out', 'Contact has opted out of this list; only the contact can opt in again')

async function findContact(ctx: Ctx, input: SubscriberInput): Promise<{ id: ContactId; email: string }> {
  if (input.email !== undefined) return findOrCreateContact(ctx, { email: input.email })
  const contact = input.contactId && (await lockContact(ctx, input.contactId))
  if (!contact) throw invalidField('contactId', 'Contact not found')
  return contact
}
