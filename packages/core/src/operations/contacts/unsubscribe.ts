import { recordEngagement } from '../../campaigns/engagement.ts'
import { findCurrentContact } from '../../contacts/contact-aliases.ts'
import { withLinkedContact } from '../../contacts/with-linked-contact.ts'
import {
  addSuppression,
  ensureSubscription,
  listRows,
  lockConsent,
  removeSuppressions,
  setSubscription,
  toKey,
} from '../../consent/consent-records.ts'
import { hasLeft, isDatedBy } from '../../consent/derive-status.ts'
import { deriveStatuses } from '../../consent/derive-statuses.ts'
import { findUndone, undoLifetimeMs } from '../../consent/link-rules.ts'
import { restoreLostRows } from '../../consent/lost-rows.ts'
import { givenConsent, withProof } from '../../consent/proofs.ts'
import { invalidLink } from '../../kernel/errors.ts'
import type { ContactId, ListId } from '../../kernel/ids.ts'
import { emailKey } from '../../kernel/values/email-key.ts'
import { lockList } from '../../lists/lists.ts'
import { openUndo, openUnsubscribe, undoToken } from '../../lists/subscription-links.ts'
import { type BaseCtx, type Ctx, publicContext } from '../../request/context.ts'
import { changedBeforeLock, inRounds } from '../../request/in-rounds.ts'
import { isLiveWorkspace } from '../../request/workspace-state.ts'
import { lockPeople } from '../../suppressions/lock-people.ts'

/**
 * Unsubscribes the contact that received the email with this token, and the address of that email, whichever contact has
 * it now. If the list no longer exists, they leave every list: another one may have the same people. Idempotent. No-op if the
 * workspace no longer exists. If this call ended a confirmed subscription to the list, returns the token that undoes it.
 */
export async function unsubscribe(base: BaseCtx, token: string): Promise<string | undefined> {
  const { campaignId, workspaceId, ...link } = openUnsubscribe(base, token)
  return inRounds(publicContext(base, workspaceId), async (ctx) => {
    if (!(await isLiveWorkspace(ctx))) return undefined
    const { isFirst, undo } = await leaveByLink(ctx, { ...link, orAll: true })
    if (isFirst && campaignId) await recordEngagement(ctx, { campaignId, contactId: link.contactId }, 'unsubscribed')
    return undo
  })
}

/** The person at the other end of a link. */
export interface Leaving {
  contactId: ContactId
  /** The address that the link was mailed to. */
  email: string
  /** Undefined: every list, also those to come. */
  listId?: ListId
  /** Whether a list that no longer exists means every list. Default: it means nothing. */
  orAll?: boolean
}

/**
 * Records what a person says by a link, in a transaction of `inRounds`: about the address of the link, and the one that
 * the contact has now. Returns whether they had not said so before, and the token of an undo if there is one.
 */
export async function leaveByLink(
  ctx: Ctx,
  { contactId, email, orAll = false, ...of }: Leaving,
): Promise<{ isFirst: boolean; undo?: string | undefined }> {
  const seen = await findCurrentContact(ctx, contactId)
  const emails = [...new Set([email, ...(seen ? [seen.email] : [])].map(emailKey))]
  let isListed = true
  const { contacts, records } = await lockPeople(
    ctx,
    emails.map((one) => ({ email: one })),
    async () => {
      if (of.listId) isListed = (await lockList(ctx, of.listId)) !== undefined
    },
  )
  const contact = contacts.find(({ id }) => id === seen?.id)
  if (seen && contact?.email !== seen.email) throw changedBeforeLock
  if (!isListed && !orAll) return { isFirst: false }
  const listId = isListed ? of.listId : undefined
  restoreLostRows(ctx, records)
  const before = contact && listId && records.subscriptions.get(toKey({ listId, contactId: contact.id }))
  const isFirst = contact !== undefined && !hasLeft(before, listRows(records, contact.email, listId))
  // What holds for two addresses cannot be undone for one.
  const canUndo = emails.length === 1
  const said = { listId: listId ?? null, reason: 'OPTED_OUT', source: 'LINK' } as const
  const [first] = emails.map(
    (one) =>
      addSuppression(ctx, records, { ...said, email: one, ...(canUndo && { undoableForMs: undoLifetimeMs }) }).row,
  )
  if (contact && listId) ensureSubscription(ctx, records, { listId, contactId: contact.id, source: 'link' })
  await deriveStatuses(ctx, records)
  if (!first || !contact || !listId || !canUndo || before?.status !== 'CONFIRMED') return { isFirst }
  return {
    isFirst,
    undo: undoToken(ctx, { listId, contactId: contact.id, email: contact.email, saidAt: first.saidAt }),
  }
}

/**
 * Undoes an unsubscribe, with the token that it returned. Idempotent. Throws `invalid_token` if anything else was said
 * since, if the operator removed the contact, or if the contact has another address.
 */
export async function undoUnsubscribe(base: BaseCtx, token: string): Promise<void> {
  const { saidAt, listId, ...link } = openUndo(base, token)
  return withLinkedContact(base, link, {
    refuse: invalidLink,
    act: async (ctx, contact) => {
      if (!(await lockList(ctx, listId))) throw invalidLink()
      const records = await lockConsent(ctx, { contacts: [contact], mode: 'exclusive' })
      const undone = findUndone(records, { email: contact.email, listId, saidAt })
      const state = records.subscriptions.get(toKey({ listId, contactId: contact.id }))
      if (undone === 'NOT_SUPPRESSED' && state?.status === 'CONFIRMED') return
      if (typeof undone === 'string' || state?.ownStatus !== 'CONFIRMED' || !isDatedBy(state, undone))
        throw invalidLink()
      removeSuppressions(records, [undone])
      const proof = givenConsent(ctx, contact.email, { method: 'UNDO_UNSUBSCRIBE' })
      setSubscription(records, { ...state, consent: withProof(state.consent, proof) })
      await deriveStatuses(ctx, records, { widens: (one) => toKey(one) === toKey(state) })
    },
  })
}
