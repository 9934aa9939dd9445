/** What a person changes on the preferences page. Leaving counts at once; coming back is asked by email. */
import { recordEngagement } from '../../campaigns/engagement.ts'
import { invalidToken } from '../../kernel/errors.ts'
import type { ListId } from '../../kernel/ids.ts'
import { lockList } from '../../lists/lists.ts'
import { makeFinal } from '../../lists/operator-opt-outs.ts'
import { requestConfirmation } from '../../lists/subscribe.ts'
import type { BaseCtx, Ctx } from '../../request/context.ts'
import { requireNotSuspended } from '../../request/suspended-workspace.ts'
import { readSuppressions } from '../../subscriptions/find-suppressions.ts'
import type { PreferencesLink } from '../../subscriptions/preferences-links.ts'
import { findSubscription } from '../../subscriptions/subscription-record.ts'
import { canConfirm } from '../../subscriptions/suppression-reasons.ts'
import { suppress } from '../../suppressions/suppress.ts'
import { leaveList } from '../contacts/unsubscribe.ts'
import { withLockedHolder } from './lock-holder.ts'

interface ListChoice {
  token: string
  listId: ListId
}

/** Unsubscribes the person from one list, as the unsubscribe link of that list does. Idempotent. */
export function leaveListByPreferences(base: BaseCtx, { token, listId }: ListChoice): Promise<void> {
  return withLockedHolder(base, token, async (ctx, { link, contact }) => {
    const contactId = contact?.id ?? link.contactId
    const hasLeft = await leaveList(ctx, { listId, contactId, email: link.email })
    if (hasLeft) await countUnsubscribe(ctx, link)
  })
}

/**
 * Stops all newsletters to the person, also of lists that are created later. It is the person's own word, so the
 * operator cannot undo it. It holds for the address of the link and for the one that the contact has now. Idempotent.
 */
export function stopAllMail(base: BaseCtx, token: string): Promise<void> {
  return withLockedHolder(base, token, async (ctx, { link, contact, isCurrent }) => {
    const emails = contact && !isCurrent ? [link.email, contact.email] : [link.email]
    const added = emails.map((email) => ({ email, reason: 'OPTED_OUT', source: 'LINK' }) as const)
    await suppress(ctx, added, { emitsEvents: true })
    if (!contact) return
    await makeFinal(ctx, { contactId: contact.id })
    await countUnsubscribe(ctx, link)
  })
}

/**
 * Emails the person a link that subscribes them again to a list that they left. Until it is used, nothing changes. No-op
 * if they are on the list, or if their address bounced or is blocked. `locale` is that of the page. Returns whether an
 * email is sent. Throws `invalid_token` if the contact has another address now.
 */
export async function askToReturn(
  base: BaseCtx,
  { token, listId, locale }: ListChoice & { locale?: string | undefined },
): Promise<boolean> {
  let isSent = false
  await withLockedHolder(base, token, async (ctx, { contact, isCurrent }) => {
    if (!contact || !isCurrent) throw invalidToken()
    await requireNotSuspended(ctx)
    const { email } = contact
    const link = { listId, contactId: contact.id }
    const isListed = (await lockList(ctx, listId)) && (await findSubscription(ctx, link))
    if (!isListed || !canConfirm(await readSuppressions(ctx, { email, listId }))) return
    const consent = { method: 'PREFERENCES_PAGE' } as const
    isSent = await requestConfirmation(ctx, { link, email, source: 'preferences', consent, locale })
  })
  return isSent
}

async function countUnsubscribe(ctx: Ctx, { campaignId, contactId }: PreferencesLink): Promise<void> {
  if (campaignId) await recordEngagement(ctx, { campaignId, contactId }, 'unsubscribed')
}
