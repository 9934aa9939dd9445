/** Subscriptions changed by visitors: by the public API, by forms, and by links in emails. */
import { findOrCreateContact } from '../contacts/upsert-contact.ts'
import { withLinkedContact } from '../contacts/with-linked-contact.ts'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { changedBeforeLock, inRounds } from '../request/in-rounds.ts'
import { invalidLink, notFound } from '../kernel/errors.ts'
import type { ListId } from '../kernel/ids.ts'
import { requestConfirmationMail } from '../mail/request-confirmation-mail.ts'
import { recordUsedLink } from '../mail/budget/visitor-mails.ts'
import { workspaceSuspended } from '../request/workspace-state.ts'
import { openConfirmation } from './subscription-links.ts'
import { findPublicList, listOtherLists, lockList } from './lists.ts'
import {
  type AddressedContact,
  type ConsentRecords,
  listRows,
  lockConsent,
  newSubscription,
  readSuppressions,
  setSubscription,
  toKey,
} from '../consent/consent-records.ts'
import { hasLeft, type SubscriptionState } from '../consent/derive-status.ts'
import { deriveStatuses } from '../consent/derive-statuses.ts'
import type { SubscribeInput } from './lists.schema.ts'
import { type ConsentSource, requestedConsent, withConfirmation, withProof } from '../consent/proofs.ts'
import { grantByLink } from '../consent/tracking/grant-tracking.ts'
import type { TrackedAction } from '../consent/tracking/tracking-level.ts'
import { withLostRows } from '../consent/lost-rows.ts'
import { isRefused, returnToList } from '../consent/link-rules.ts'
import { canConfirm, type SuppressionRow } from '../consent/suppression-rows.ts'
import { contactQuota } from '../quotas/record-quota.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'

/** A locked contact to subscribe, the source of the request, and how the contact consents. */
interface SubscriptionRequest {
  listId: ListId
  contact: AddressedContact
  source: string
  consent: ConsentSource
  /** The grant of tracking that the email asks to confirm too. */
  tracking?: TrackedAction[] | undefined
  /** Of the page or form of the request. */
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
  await inRounds(visitor, async (ctx) => {
    // For known contacts too: otherwise the response would tell them from unknown ones.
    await contactQuota.require(ctx)
    // The link could not lift a bounce or a block: nothing is stored.
    if (!canConfirm(await readSuppressions(ctx, { email: input.email, listId }))) return
    const contact = await findOrCreateContact(ctx, { ...input, source: 'subscription' })
    if (!(await lockList(ctx, listId))) throw notFound('List')
    const consent = { method: 'PUBLIC_SUBSCRIBE' } as const
    await requestSubscription(ctx, { listId, contact, source: 'public', consent, locale: input.locale })
  })
}

/**
 * Subscribes a contact to a locked list at the request of a visitor, even if the operator removed it: as PENDING, and by
 * a link in an email, because a visitor can enter any address. What the person said stays until the link is used, also
 * if its row is lost. If the address bounced or is blocked, nothing happens: the link could not lift it. Returns whether
 * an email is sent. In a transaction of `inRounds`.
 */
export async function requestSubscription(ctx: Ctx, request: SubscriptionRequest): Promise<boolean> {
  const { contact, listId } = request
  const key = { listId, contactId: contact.id }
  const records = await lockConsent(ctx, { contacts: [contact], mode: 'shared' })
  const rows = listRows(records, contact.email, listId)
  if (!canConfirm(rows)) return false
  const current = records.subscriptions.get(toKey(key))
  if (current?.status === 'CONFIRMED') return false
  requireNotOvertaken(records, { email: contact.email, listId, state: current })
  const isNew = !current || current.ownStatus === 'REMOVED'
  const asked = isNew ? setPending(ctx, records, { ...request, at: records.startedAt }) : current
  const isMailed = await askByMail(ctx, records, { request, rows, asked, isNew })
  const widens = (state: SubscriptionState) => !hasLeft(current, rows) && toKey(state) === toKey(key)
  await deriveStatuses(ctx, records, { widens, isActivity: isNew })
  return isMailed
}

interface Asking {
  request: SubscriptionRequest
  /** The suppressions of the contact for the list and for all. */
  rows: readonly SuppressionRow[]
  /** The subscription that the link confirms. */
  asked: SubscriptionState
  /** Whether `setPending` has kept the request as its proof already. */
  isNew: boolean
  /** Undefined for a visitor, who waits ten minutes for the next email even after a removal. */
  isAfterRemoval?: boolean
}

/**
 * Emails a contact the link that confirms its subscription, and keeps the request as a proof if an email is sent. Returns
 * whether one is.
 */
export async function askByMail(
  ctx: Ctx,
  records: ConsentRecords,
  { request, rows, asked, isNew, isAfterRemoval }: Asking,
): Promise<boolean> {
  const { contact, listId, consent, tracking, locale } = request
  const mailed = await requestConfirmationMail(ctx, {
    kind: 'CONFIRMATION',
    email: contact.email,
    listId,
    contactId: contact.id,
    isAfterRemoval,
    isRefused: (issuedAt) => isRefused(asked, rows, issuedAt),
    tracking,
    locale,
  })
  if (mailed && !isNew) {
    const issuedAt = mailed.waitingSince ?? records.startedAt
    const proof = requestedConsent(ctx, contact.email, { ...consent, issuedAt })
    setSubscription(records, { ...asked, consent: withProof(asked.consent, proof) })
  }
  return mailed !== undefined
}

/**
 * Throws `changedBeforeLock` if something ended the subscription after the transaction had started, or a later request
 * has made it PENDING: the link that it mails would be older, and refused.
 */
export function requireNotOvertaken(
  records: ConsentRecords,
  { email, listId, state }: { email: string; listId: ListId; state: SubscriptionState | undefined },
): void {
  const endings = listRows(records, email, listId).map(({ saidAt }) => saidAt)
  if (state?.ownStatus === 'REMOVED') endings.push(state.ownStatusAt)
  if (state?.ownStatus === 'PENDING' && state.ownStatusAt > records.startedAt) throw changedBeforeLock
  // The date in a file may be ahead.
  if (endings.some((at) => at >= records.startedAt && at <= records.now)) throw changedBeforeLock
}

/** Makes the subscription of a contact PENDING, with the request as its proof. Links from before `at` are refused. */
export function setPending(
  ctx: Ctx,
  records: ConsentRecords,
  { contact, listId, source, consent, at }: SubscriptionRequest & { at: Timestamp },
): SubscriptionState {
  const key = { listId, contactId: contact.id }
  const proof = requestedConsent(ctx, contact.email, { ...consent, issuedAt: at })
  const pending = { ownStatus: 'PENDING', ownStatusAt: at } as const
  const current = records.subscriptions.get(toKey(key))
  const state: SubscriptionState = current
    ? { ...current, ...pending, source, confirmedAt: null, consent: withProof(current.consent, proof) }
    : newSubscription(ctx, key, { ...pending, source, consent: [proof] })
  setSubscription(records, state)
  return state
}

/**
 * Confirms a subscription by the token of an email, which lifts what the person said before. Idempotent. A link from
 * before an opt-out or a removal does not undo it, and a link mailed to a former address of the contact is invalid.
 * `allowed` is what the person ticked on the page of the link: of it, what the email asked for is granted. Returns that.
 */
export async function confirmSubscription(
  base: BaseCtx,
  token: string,
  allowed: readonly TrackedAction[] = [],
): Promise<TrackedAction[]> {
  const { issuedAt, tracking, ...link } = openConfirmation(base, token)
  const { listId } = link
  const scope = tracking.filter((action) => allowed.includes(action))
  return withLinkedContact(base, link, {
    refuse: invalidLink,
    act: async (ctx, contact) => {
      if (!(await lockList(ctx, listId))) throw invalidLink()
      const stored = await lockConsent(ctx, { contacts: [contact], mode: 'exclusive' })
      const state = stored.subscriptions.get(toKey({ listId, contactId: contact.id }))
      if (!state || isRefused(state, listRows(stored, contact.email, listId), issuedAt)) throw invalidLink()
      const granted = scope.length > 0 ? await grantByLink(ctx, contact, { scope, issuedAt }) : []
      if (state.status === 'CONFIRMED') return granted
      const records = withLostRows(ctx, stored)
      const rows = listRows(records, contact.email, listId)
      setSubscription(records, {
        ...state,
        ownStatus: 'CONFIRMED',
        ownStatusAt: records.now,
        confirmedAt: records.now,
        consent: withConfirmation(ctx, state.consent, { email: contact.email, issuedAt }),
      })
      await returnToList(records, { rows, listOthers: () => listOtherLists(ctx, listId) })
      await recordUsedLink(ctx, { kind: 'CONFIRMATION', contactId: contact.id, listId })
      await deriveStatuses(ctx, records, { widens: (one) => toKey(one) === toKey(state) })
      return granted
    },
  })
}
