/** What strangers do with their own subscriptions: by a form on any site, and by the links in mails. */
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

/** A contact who is to be subscribed, locked, and by what they came. */
interface SubscriptionRequest {
  list: { id: ListId; doubleOptIn: boolean }
  contact: { id: ContactId; email: string }
  source: string
}

/** A stranger asks to be subscribed. Says nothing of what was known before. */
export async function subscribe(base: BaseCtx, listId: ListId, input: SubscribeInput): Promise<void> {
  const { ctx: visitor, doubleOptIn } = await findPublicList(base, listId)
  await inTransaction(visitor, async (ctx) => {
    const contact = await findOrCreateContact(ctx, { ...input, source: 'subscription' })
    await requestSubscription(ctx, { list: { id: listId, doubleOptIn }, contact, source: 'public' })
  })
}

/**
 * Subscribes by somebody's own wish. Mails a confirmation link, for each address and list at most one in ten minutes
 * and three a day; on a list without double opt-in a new subscriber is confirmed at once, but someone who once opted
 * out must confirm by the link even there, since anybody can type their address. Who bounced or complained gets nothing.
 */
export async function requestSubscription(ctx: Ctx, { list, contact, source }: SubscriptionRequest): Promise<void> {
  if (await readSuppression(ctx, contact.email)) return
  const link = { workspaceId: ctx.workspaceId, listId: list.id, contactId: contact.id }
  const optOuts = await findOptOuts(ctx, list.id, [contact.email])
  if (!list.doubleOptIn && optOuts.size === 0 && (await confirmImmediately(ctx, link, source))) return
  await requestConfirmation(ctx, { link, email: contact.email, source })
}

/**
 * Confirms by the token of a mail. Idempotent; but a link from before an opt-out does not undo it, and one that was
 * mailed to another address than the contact now has says nothing of this one.
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

/** Makes a subscription of a locked contact UNSUBSCRIBED, unless a stricter word was said of it or it was none. Answers whether it did. */
export async function endSubscription(ctx: Ctx, link: SubscriptionLink): Promise<boolean> {
  const [ended] = await ctx.db
    .update(subscriptions)
    .set({ status: 'UNSUBSCRIBED', unsubscribedAt: new Date() })
    .where(and(byLink(link), inArray(subscriptions.status, ['PENDING', 'CONFIRMED'])))
    .returning(subscriptionColumns)
  if (ended) await recordSubscriptionChange(ctx, ended, [subscriptionUnsubscribed])
  return ended !== undefined
}

/** Confirms a locked contact who is new to the list or PENDING; undefined when there was nothing to confirm. */
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
 * Asks a locked contact by mail to confirm; not who is confirmed, bounced or complained, and not again within ten
 * minutes, nor a fourth time within a day.
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
