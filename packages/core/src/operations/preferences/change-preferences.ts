/** What a person changes on the preferences page. Leaving counts at once; coming back is asked by email. */
import { recordEngagement } from '../../campaigns/engagement.ts'
import { openPreferences } from '../../consent/preferences-links.ts'
import { findSubscription } from '../../consent/subscription-record.ts'
import { invalidToken } from '../../kernel/errors.ts'
import type { ListId } from '../../kernel/ids.ts'
import { lockList } from '../../lists/lists.ts'
import { requestSubscription } from '../../lists/subscribe.ts'
import { type BaseCtx, publicContext } from '../../request/context.ts'
import { inRounds } from '../../request/in-rounds.ts'
import { isLiveWorkspace, requireNotSuspended } from '../../request/workspace-state.ts'
import { leaveByLink } from '../contacts/unsubscribe.ts'
import { withLockedHolder } from './lock-holder.ts'

interface ListChoice {
  token: string
  listId: ListId
}

/** Unsubscribes the person from one list, as the unsubscribe link of that list does. Idempotent. */
export function leaveListByPreferences(base: BaseCtx, { token, listId }: ListChoice): Promise<void> {
  return leave(base, token, listId)
}

/**
 * Stops all newsletters to the person, also of lists that are created later. It is the person's own word, so the
 * operator cannot undo it. It holds for the address of the link and for the one that the contact has now. Idempotent.
 */
export function stopAllMail(base: BaseCtx, token: string): Promise<void> {
  return leave(base, token)
}

async function leave(base: BaseCtx, token: string, listId?: ListId): Promise<void> {
  const { campaignId, workspaceId, ...link } = openPreferences(base, token)
  return inRounds(publicContext(base, workspaceId), async (ctx) => {
    if (!(await isLiveWorkspace(ctx))) return
    const { isFirst } = await leaveByLink(ctx, { ...link, ...(listId && { listId }) })
    if (isFirst && campaignId) await recordEngagement(ctx, { campaignId, contactId: link.contactId }, 'unsubscribed')
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
    const isListed = (await lockList(ctx, listId)) && (await findSubscription(ctx, { listId, contactId: contact.id }))
    const consent = { method: 'PREFERENCES_PAGE' } as const
    const request = { listId, contact, source: 'preferences', consent, locale }
    isSent = isListed ? await requestSubscription(ctx, request) : false
  })
  return isSent
}
