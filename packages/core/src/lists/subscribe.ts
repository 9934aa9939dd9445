/** Subscriptions changed by visitors: by the public API, by forms, and by links in emails. */
import { and, eq, gt, inArray, isNotNull, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import { findOrCreateContact } from '../contacts/upsert-contact.ts'
import { type BaseCtx, type Ctx, inTransaction, publicContext } from '../request/context.ts'
import { onConstraint } from '../db/database-errors.ts'
import { notFound } from '../kernel/errors.ts'
import type { ContactId, ListId } from '../kernel/ids.ts'
import { requestConfirmationMail } from '../mail/request-confirmation-mail.ts'
import { subscriptions } from '../db/schema/index.ts'
import { isLiveWorkspace } from '../workspaces/is-live.ts'
import { requireNotSuspended, workspaceSuspended } from '../request/suspended-workspace.ts'
import { invalidLink, openConfirmation, undoLifetimeMs } from './subscription-links.ts'
import { findPublicList } from './lists.ts'
import { readSuppressions } from '../subscriptions/find-suppressions.ts'
import { isSameAddress } from '../subscriptions/hash-email.ts'
import { liftOptOuts } from '../subscriptions/lift-opt-outs.ts'
import type { SubscribeInput } from './lists.schema.ts'
import {
  bySubscription,
  findSubscription,
  recordSubscriptionChange,
  subscriptionColumns,
  type SubscriptionKey,
} from '../subscriptions/subscription-record.ts'
import {
  type ConsentSource,
  consentValue,
  givenConsent,
  requestedConsent,
  withConfirmation,
  withConsent,
} from '../subscriptions/consent.ts'
import { grantByLink } from '../subscriptions/tracking/grant-tracking.ts'
import type { TrackedAction } from '../subscriptions/tracking/tracking-level.ts'
import { canConfirm } from '../subscriptions/suppression-reasons.ts'
import { requireContactQuota } from '../quotas/contact-quota.ts'
import { lockCurrentContact } from '../contacts/lock-contact.ts'
import {
  subscriptionConfirmed,
  subscriptionCreated,
  subscriptionUnsubscribed,
} from '../subscriptions/subscription-events.ts'

/** A locked contact to subscribe, the source of the request, and how the contact consents. */
interface SubscriptionRequest {
  list: { id: ListId }
  contact: { id: ContactId; email: string }
  source: string
  consent: ConsentSource
  /** The grant of tracking that the email asks to confirm too. */
  tracking?: TrackedAction[]
  /** Of the page or form of the request. */
  locale?: string | null | undefined
}

/** The same for one subscription. */
export interface Subscribing {
  link: SubscriptionKey
  email: string
  source: string
  consent: ConsentSource
  tracking?: TrackedAction[] | undefined
  locale?: string | null | undefined
}

/** Subscribes a visitor; `locale` is that of the page. The response does not reveal whether the contact was known before. */
export async function subscribe(
  base: BaseCtx,
  listId: ListId,
  input: SubscribeInput & { locale?: string | undefined },
): Promise<void> {
  const { ctx: visitor, isSuspended } = await findPublicList(base, listId)
  if (isSuspended) throw workspaceSuspended()
  await inTransaction(visitor, async (ctx) => {
    // For known contacts too: otherwise the response would tell them from unknown ones.
    await requireContactQuota(ctx)
    const contact = await findOrCreateContact(ctx, { ...input, source: 'subscription' })
    const consent = { method: 'PUBLIC_SUBSCRIBE' } as const
    const { locale } = input
    await requestSubscription(ctx, { list: { id: listId }, contact, source: 'public', consent, locale })
  })
}

/**
 * Asks a contact by email to confirm what a visitor requested, also on a list without double opt-in, because a visitor can
 * enter any address. The limits of `takeConfirmationQuota` apply. A contact that the operator removed is PENDING again. An
 * address that bounced or is blocked gets no email, because the link could not lift that. Returns whether an email is sent.
 */
export async function requestSubscription(ctx: Ctx, request: SubscriptionRequest): Promise<boolean> {
  const { list, contact, source, consent, tracking, locale } = request
  const reasons = await readSuppressions(ctx, { email: contact.email, listId: list.id })
  if (!canConfirm(reasons)) return false
  const link = { listId: list.id, contactId: contact.id }
  const subscribing = { link, email: contact.email, source, consent, tracking, locale }
  if (reasons.length === 0) await reopenAsPending(ctx, subscribing)
  return requestConfirmation(ctx, subscribing)
}

/**
 * Confirms a subscription by the token of an email, which lifts what the person said before. Idempotent. A link from
 * before an opt-out does not undo it, and a link mailed to a former address of the contact is invalid. `allowed` is what
 * the person ticked on the page of the link: of it, what the email asked for is granted. Returns that.
 */
export async function confirmSubscription(
  base: BaseCtx,
  token: string,
  allowed: readonly TrackedAction[] = [],
): Promise<TrackedAction[]> {
  const { issuedAt, email, tracking, ...named } = openConfirmation(base, token)
  const scope = tracking.filter((action) => allowed.includes(action))
  return inTransaction(publicContext(base, named.workspaceId), async (ctx) => {
    if (!(await isLiveWorkspace(ctx))) throw invalidLink()
    await requireNotSuspended(ctx)
    const contact = await lockCurrentContact(ctx, named.contactId)
    if (!contact || !isSameAddress(contact.email, email)) throw invalidLink()
    const link = { listId: named.listId, contactId: contact.id }
    const reasons = await readSuppressions(ctx, { email: contact.email, listId: link.listId })
    const isOutdated = reasons.some(({ createdAt }) => new Date(createdAt) > issuedAt)
    if (isOutdated || !canConfirm(reasons)) throw invalidLink()
    const granted = scope.length > 0 ? await grantByLink(ctx, contact, { scope, issuedAt }) : []
    const [confirmed] = await ctx.db
      .update(subscriptions)
      .set({
        status: 'CONFIRMED',
        confirmedAt: new Date(),
        consent: withConfirmation(ctx, contact.email),
        unsubscribedAt: null,
        isRemoved: false,
      })
      .where(
        and(
          bySubscription(ctx, link),
          inArray(subscriptions.status, ['PENDING', 'UNSUBSCRIBED', 'COMPLAINED']),
          or(isNull(subscriptions.unsubscribedAt), lt(subscriptions.unsubscribedAt, issuedAt)),
        ),
      )
      .returning(subscriptionColumns)
    if (confirmed) {
      await liftOptOuts(ctx, link.listId, contact)
      await recordSubscriptionChange(ctx, confirmed, [subscriptionConfirmed])
      return granted
    }
    const current = await findSubscription(ctx, link)
    if (current?.status !== 'CONFIRMED') throw invalidLink()
    return granted
  })
}

/**
 * Unsubscribes a locked contact that is PENDING or CONFIRMED, that the operator removed, or whose address bounced or is
 * blocked: its own opt-out replaces these. Returns whether it changed.
 */
export function optOutByPerson(ctx: Ctx, link: SubscriptionKey): Promise<boolean> {
  const hasNotOptedOut = or(isActive, eq(subscriptions.isRemoved, true), isNotNull(subscriptions.replacedStatus))
  return setUnsubscribed(ctx, hasNotOptedOut, { link, isRemoved: false })
}

/**
 * Removes a locked contact that is PENDING or CONFIRMED from the list for the operator. It is UNSUBSCRIBED too, but can
 * be subscribed again without its own request, because it has not opted out.
 */
export async function removeByOperator(ctx: Ctx, link: SubscriptionKey): Promise<void> {
  // A bounce or a block that is lifted later must not restore the subscription.
  const isOpen = or(isActive, isNotNull(subscriptions.replacedStatus))
  if (await setUnsubscribed(ctx, isOpen, { link, isRemoved: true })) return
  // The token that undoes a recent opt-out is bound to its time: the contact must not undo the removal with it.
  const undoableSince = new Date(Date.now() - undoLifetimeMs)
  await ctx.db
    .update(subscriptions)
    .set({ unsubscribedAt: new Date() })
    .where(
      and(
        bySubscription(ctx, link),
        eq(subscriptions.status, 'UNSUBSCRIBED'),
        eq(subscriptions.isRemoved, false),
        gt(subscriptions.unsubscribedAt, undoableSince),
      ),
    )
}

const isActive = inArray(subscriptions.status, ['PENDING', 'CONFIRMED'])

async function setUnsubscribed(
  ctx: Ctx,
  condition: SQL | undefined,
  { link, isRemoved }: { link: SubscriptionKey; isRemoved: boolean },
): Promise<boolean> {
  const [ended] = await ctx.db
    .update(subscriptions)
    .set({ status: 'UNSUBSCRIBED', unsubscribedAt: new Date(), isRemoved, replacedStatus: null })
    .where(and(bySubscription(ctx, link), condition))
    .returning(subscriptionColumns)
  if (ended) await recordSubscriptionChange(ctx, ended, [subscriptionUnsubscribed])
  return ended !== undefined
}

/**
 * Makes the subscription of a locked contact that the operator removed PENDING, like a new one, and emits
 * `subscription.created`; also if a bounce ended it that does not stand anymore. No-op for all other contacts. The
 * caller has asked what stands against the address.
 */
export async function reopenAsPending(ctx: Ctx, { link, email, source, consent }: Subscribing): Promise<void> {
  const [restored] = await ctx.db
    .update(subscriptions)
    .set({
      status: 'PENDING',
      source,
      confirmedAt: null,
      // An earlier link is valid again, so it must complete this request.
      consent: withConsent(consentValue(requestedConsent(ctx, email, consent))),
      unsubscribedAt: null,
      isRemoved: false,
      replacedStatus: null,
    })
    .where(and(bySubscription(ctx, link), or(eq(subscriptions.isRemoved, true), hasBounced)))
    .returning(subscriptionColumns)
  if (restored) await recordSubscriptionChange(ctx, restored, [subscriptionCreated])
}

const hasBounced = and(eq(subscriptions.status, 'BOUNCED'), isNull(subscriptions.unsubscribedAt))

/** Confirms a locked contact that is PENDING or new to the list, by the word of a caller with a credential. */
export async function confirmByCaller(
  ctx: Ctx,
  { link, email, source, consent: consentSource }: Subscribing,
): Promise<void> {
  const now = new Date()
  const consent = givenConsent(ctx, email, consentSource)
  const [row] = await ctx.db
    .insert(subscriptions)
    .values({
      workspaceId: ctx.workspaceId,
      ...link,
      status: 'CONFIRMED',
      source,
      confirmedAt: now,
      consent: [consent],
      createdAt: now,
    })
    .onConflictDoUpdate({
      target: [subscriptions.workspaceId, subscriptions.listId, subscriptions.contactId],
      set: { status: 'CONFIRMED', confirmedAt: now, consent: withConsent(consentValue(consent)) },
      setWhere: eq(subscriptions.status, 'PENDING'),
    })
    .returning({ ...subscriptionColumns, inserted: sql<boolean>`xmax = 0` })
    .catch(listNotFound)
  if (!row) return
  const { inserted, ...subscription } = row
  const events = [subscriptionCreated, subscriptionConfirmed] as const
  await recordSubscriptionChange(ctx, subscription, inserted ? [...events] : [subscriptionConfirmed])
}

/**
 * Emails a confirmation link to a locked contact, unless it is CONFIRMED or BOUNCED, or has reached a
 * limit of `takeConfirmationQuota`. The contact is PENDING then too, and the caller gets the same response. Returns whether
 * an email is sent.
 */
export async function requestConfirmation(
  ctx: Ctx,
  { link, email, source, consent: consentSource, tracking, locale }: Subscribing,
): Promise<boolean> {
  const consent = requestedConsent(ctx, email, consentSource)
  const [inserted] = await ctx.db
    .insert(subscriptions)
    .values({ workspaceId: ctx.workspaceId, ...link, status: 'PENDING', source, consent: [consent] })
    .onConflictDoNothing()
    .returning(subscriptionColumns)
    .catch(listNotFound)
  if (inserted) await recordSubscriptionChange(ctx, inserted, [subscriptionCreated])
  const isOpen = inArray(subscriptions.status, ['PENDING', 'UNSUBSCRIBED', 'COMPLAINED'])
  if (!inserted && (await ctx.db.$count(subscriptions, and(bySubscription(ctx, link), isOpen))) === 0) return false
  const isMailed = await requestConfirmationMail(ctx, { kind: 'CONFIRMATION', ...link, email, tracking, locale })
  if (!isMailed || inserted) return isMailed
  await ctx.db
    .update(subscriptions)
    .set({ consent: withConsent(consentValue(consent)) })
    .where(bySubscription(ctx, link))
  return true
}

const listNotFound = onConstraint('subscriptions_list_fk', () => notFound('List'))
