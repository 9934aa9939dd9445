/** Subscriptions changed by visitors: by the public API, by forms, and by links in emails. */
import { and, eq, inArray, isNull, lt, or, sql } from 'drizzle-orm'
import { findOrCreateContact } from '../contacts/update-contact.ts'
import { type BaseCtx, type Ctx, inTransaction, publicContext } from '../request/context.ts'
import { notFound, onConstraint } from '../kernel/errors.ts'
import type { ContactId, ListId } from '../kernel/ids.ts'
import { enqueueMail } from '../mail/mails.ts'
import { subscriptions } from '../db/schema/index.ts'
import { isLiveWorkspace } from '../workspaces/is-live.ts'
import { invalidLink, openConfirmation, type SubscriptionLink } from './subscription-links.ts'
import { findPublicList } from './lists.ts'
import { findOptOuts, deleteOptOut, hashEmailWithAllKeys } from '../subscriptions/opt-outs.ts'
import type { SubscribeInput } from './lists.schema.ts'
import {
  subscriptionColumns,
  type SubscriptionRow,
  recordSubscriptionChange,
} from '../subscriptions/subscription-record.ts'
import { readSuppression } from '../subscriptions/suppressions.ts'
import { lockContact, lockCurrentContact } from '../contacts/lock-contact.ts'
import {
  subscriptionConfirmed,
  subscriptionCreated,
  subscriptionUnsubscribed,
} from '../subscriptions/subscription-events.ts'

/** A locked contact to subscribe, and the source of the request. */
interface SubscriptionRequest {
  list: { id: ListId; doubleOptIn: boolean }
  contact: { id: ContactId; email: string }
  source: string
}

/** Subscribes a visitor. The response does not reveal whether the contact was known before. */
export async function subscribe(base: BaseCtx, listId: ListId, input: SubscribeInput): Promise<void> {
  const { ctx: visitor, doubleOptIn } = await findPublicList(base, listId)
  await inTransaction(visitor, async (ctx) => {
    const contact = await findOrCreateContact(ctx, { ...input, source: 'subscription' })
    await requestSubscription(ctx, { list: { id: listId, doubleOptIn }, contact, source: 'public' })
  })
}

/**
 * Subscribes a contact at the request of a visitor. Emails a confirmation link, at most one in ten minutes and three a
 * day per address and list. Without double opt-in, a new subscriber is confirmed immediately. After an opt-out, only
 * the link confirms, because a visitor can enter any address. An address that bounced or complained gets no email.
 */
export async function requestSubscription(ctx: Ctx, { list, contact, source }: SubscriptionRequest): Promise<void> {
  if (await readSuppression(ctx, contact.email)) return
  const link = { workspaceId: ctx.workspaceId, listId: list.id, contactId: contact.id }
  const optOuts = await findOptOuts(ctx, list.id, [contact.email])
  if (!list.doubleOptIn && optOuts.size === 0 && (await confirmImmediately(ctx, link, source))) return
  await requestConfirmation(ctx, { link, email: contact.email, source })
}

/**
 * Confirms a subscription by the token of an email. Idempotent. A link from before an opt-out does not undo it, and a
 * link mailed to a former address of the contact is invalid.
 */
export async function confirmSubscription(base: BaseCtx, token: string): Promise<void> {
  const { issuedAt, emailHash, ...named } = openConfirmation(base, token)
  await inTransaction(publicContext(base, named.workspaceId), async (ctx) => {
    if (!(await isLiveWorkspace(ctx))) throw invalidLink()
    const link = { ...named, contactId: await lockCurrentContact(ctx, named.contactId) }
    const contact = await lockContact(ctx, link.contactId)
    if (!contact || !hashEmailWithAllKeys(ctx, contact.email).includes(emailHash)) throw invalidLink()
    const [confirmed] = await ctx.db
      .update(subscriptions)
      .set({ status: 'CONFIRMED', confirmedAt: new Date(), unsubscribedAt: null })
      .where(
        and(
          byLink(link),
          inArray(subscriptions.status, ['PENDING', 'UNSUBSCRIBED']),
          or(isNull(subscriptions.unsubscribedAt), lt(subscriptions.unsubscribedAt, issuedAt)),
        ),
      )
      .returning(subscriptionColumns)
    if (confirmed) {
      await deleteOptOut(ctx, link.listId, contact.email)
      return recordSubscriptionChange(ctx, confirmed, [subscriptionConfirmed])
    }
    const [current] = await ctx.db.select().from(subscriptions).where(byLink(link))
    if (current?.status !== 'CONFIRMED') throw invalidLink()
  })
}

/**
 * Sets a subscription of a locked contact to UNSUBSCRIBED if it is PENDING or CONFIRMED. Returns whether it changed.
 */
export async function endSubscription(ctx: Ctx, link: SubscriptionLink): Promise<boolean> {
  const [ended] = await ctx.db
    .update(subscriptions)
    .set({ status: 'UNSUBSCRIBED', unsubscribedAt: new Date() })
    .where(and(byLink(link), inArray(subscriptions.status, ['PENDING', 'CONFIRMED'])))
    .returning(subscriptionColumns)
  if (ended) await recordSubscriptionChange(ctx, ended, [subscriptionUnsubscribed])
  return ended !== undefined
}

/** Confirms a locked contact that is PENDING or new to the list. Returns undefined if it is neither. */
export async function confirmImmediately(
  ctx: Ctx,
  link: SubscriptionLink,
  source: string,
): Promise<SubscriptionRow | undefined> {
  const now = new Date()
  const [row] = await ctx.db
    .insert(subscriptions)
    .values({ ...link, status: 'CONFIRMED', source, confirmedAt: now, createdAt: now })
    .onConflictDoUpdate({
      target: [subscriptions.workspaceId, subscriptions.listId, subscriptions.contactId],
      set: { status: 'CONFIRMED', confirmedAt: now },
      setWhere: eq(subscriptions.status, 'PENDING'),
    })
    .returning({ ...subscriptionColumns, inserted: sql<boolean>`xmax = 0` })
    .catch(listNotFound)
  if (!row) return undefined
  const { inserted, ...subscription } = row
  const events = [subscriptionCreated, subscriptionConfirmed] as const
  await recordSubscriptionChange(ctx, subscription, inserted ? [...events] : [subscriptionConfirmed])
  return subscription
}

/**
 * Emails a confirmation link to a locked contact, unless it is CONFIRMED, BOUNCED or COMPLAINED, or has reached the
 * limit of one email in ten minutes and three a day.
 */
export async function requestConfirmation(
  ctx: Ctx,
  { link, email, source }: { link: SubscriptionLink; email: string; source: string },
): Promise<void> {
  const requestedAt = subscriptions.confirmationsRequestedAt
  const [row] = await ctx.db
    .insert(subscriptions)
    .values({ ...link, status: 'PENDING', source, confirmationsRequestedAt: sql`array[now()]` })
    .onConflictDoUpdate({
      target: [subscriptions.workspaceId, subscriptions.listId, subscriptions.contactId],
      set: { confirmationsRequestedAt: sql`(now() || ${requestedAt})[1:3]` },
      setWhere: sql`${subscriptions.status} in ('PENDING', 'UNSUBSCRIBED')
        and coalesce(${requestedAt}[1] < now() - interval '10 minutes', true)
        and coalesce(${requestedAt}[3] < now() - interval '1 day', true)`,
    })
    .returning({ ...subscriptionColumns, inserted: sql<boolean>`xmax = 0` })
    .catch(listNotFound)
  if (!row) return
  const { inserted, ...subscription } = row
  if (inserted) await recordSubscriptionChange(ctx, subscription, [subscriptionCreated])
  const data = { listId: link.listId, contactId: link.contactId }
  await enqueueMail(ctx, { kind: 'CONFIRMATION', to: email, data })
}

const listNotFound = onConstraint('subscriptions_list_fk', () => notFound('List'))

function byLink(link: SubscriptionLink) {
  return and(
    eq(subscriptions.workspaceId, link.workspaceId),
    eq(subscriptions.listId, link.listId),
    eq(subscriptions.contactId, link.contactId),
  )
}
