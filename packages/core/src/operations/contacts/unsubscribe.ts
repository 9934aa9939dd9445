import { recordEngagement } from '../../campaigns/engagement.ts'
import type { ContactRow } from '../../contacts/contact-record.ts'
import { lockCurrentContact } from '../../contacts/lock-contact.ts'
import { lockList } from '../../lists/lists.ts'
import { restoreSubscription } from '../../lists/restore-subscription.ts'
import { makeFinal } from '../../lists/operator-opt-outs.ts'
import { optOutByPerson } from '../../lists/subscribe.ts'
import { invalidLink, openUndo, openUnsubscribe, undoToken } from '../../lists/subscription-links.ts'
import { type BaseCtx, type Ctx, inTransaction, publicContext } from '../../request/context.ts'
import { readSuppressions } from '../../subscriptions/find-suppressions.ts'
import { hashEmail, isSameAddress } from '../../subscriptions/hash-email.ts'
import { findSubscription, type SubscriptionKey } from '../../subscriptions/subscription-record.ts'
import { deleteOptOut, storeOptOut } from '../../subscriptions/opt-outs.ts'
import { isLiveWorkspace } from '../../workspaces/is-live.ts'
import { requireNotSuspended } from '../../request/suspended-workspace.ts'

/**
 * Unsubscribes the contact that received the email with this token, and the address even if another contact has it now.
 * Idempotent. No-op if the contact, the list or the workspace no longer exists. If this call ended a confirmed
 * subscription, returns the token that undoes it.
 */
export async function unsubscribe(base: BaseCtx, token: string): Promise<string | undefined> {
  const { campaignId, email, ...ids } = openUnsubscribe(base, token)
  return inTransaction(publicContext(base, ids.workspaceId), async (ctx) => {
    if (!(await isLiveWorkspace(ctx))) return undefined
    const contact = await lockCurrentContact(ctx, ids.contactId)
    const link = { listId: ids.listId, contactId: contact?.id ?? ids.contactId }
    const before = await findSubscription(ctx, link)
    const hasUnsubscribed = await leaveList(ctx, { ...link, email })
    if (hasUnsubscribed && campaignId)
      await recordEngagement(ctx, { campaignId, contactId: ids.contactId }, 'unsubscribed')
    return contact && before?.status === 'CONFIRMED' ? createUndoToken(ctx, contact, { ...link, email }) : undefined
  })
}

/** A subscription, and the address of the email that led to it. */
type Leaving = SubscriptionKey & { email: string }

/**
 * Unsubscribes a locked contact from a list by its own word, and the address of the email that led to it. Returns whether
 * the subscription ended now.
 */
export async function leaveList(ctx: Ctx, { email, ...link }: Leaving): Promise<boolean> {
  const hasUnsubscribed = await optOutByPerson(ctx, link)
  if (!hasUnsubscribed) await makeFinal(ctx, link)
  await storeOptOut(ctx, link.listId, hashEmail(ctx, email))
  return hasUnsubscribed
}

/** Returns undefined if the email was sent to a former address: its owner must not subscribe the current one. */
async function createUndoToken(
  ctx: Ctx,
  contact: ContactRow,
  { listId, contactId, email }: Leaving,
): Promise<string | undefined> {
  const ended = await findSubscription(ctx, { listId, contactId })
  if (!ended?.unsubscribedAt) return undefined
  if (!isSameAddress(contact.email, email)) return undefined
  return undoToken(ctx, { listId, contactId, email: contact.email, unsubscribedAt: ended.unsubscribedAt })
}

/**
 * Undoes an unsubscribe, with the token that it returned: restores the confirmed subscription and deletes the stored
 * opt-out. Idempotent. Throws `invalid_token` if the subscription has changed since, if the contact has another
 * address, or if the address is suppressed.
 */
export async function undoUnsubscribe(base: BaseCtx, token: string): Promise<void> {
  const { unsubscribedAt, email, ...ids } = openUndo(base, token)
  await inTransaction(publicContext(base, ids.workspaceId), async (ctx) => {
    if (!(await isLiveWorkspace(ctx))) throw invalidLink()
    await requireNotSuspended(ctx)
    const contact = await lockCurrentContact(ctx, ids.contactId)
    if (!contact || !isSameAddress(contact.email, email)) throw invalidLink()
    const link = { listId: ids.listId, contactId: contact.id }
    const reasons = await readSuppressions(ctx, { email: contact.email })
    if (!(await lockList(ctx, link.listId)) || reasons.length > 0) throw invalidLink()
    if (await restoreSubscription(ctx, link, { email: contact.email, unsubscribedAt }))
      return deleteOptOut(ctx, link.listId, contact.email)
    const current = await findSubscription(ctx, link)
    if (current?.status !== 'CONFIRMED') throw invalidLink()
  })
}
