import { recordEngagement } from '../campaigns/engagement.ts'
import { openUnsubscribe } from '../lists/subscription-links.ts'
import { endSubscription } from '../lists/subscribe.ts'
import { type BaseCtx, inTransaction, publicContext } from '../request/context.ts'
import { storeOptOut } from '../subscriptions/opt-outs.ts'
import { isLiveWorkspace } from '../workspaces/is-live.ts'
import { lockCurrentContact } from '../contacts/lock-contact.ts'

/**
 * Unsubscribes the contact that received the email with this token, and the address even if another contact has it now.
 * Idempotent. No-op if the contact, the list or the workspace no longer exists.
 */
export async function unsubscribe(base: BaseCtx, token: string): Promise<void> {
  const { campaignId, emailHash, ...ids } = openUnsubscribe(base, token)
  await inTransaction(publicContext(base, ids.workspaceId), async (ctx) => {
    if (!(await isLiveWorkspace(ctx))) return
    const link = { ...ids, contactId: await lockCurrentContact(ctx, ids.contactId) }
    const hasUnsubscribed = await endSubscription(ctx, link)
    if (emailHash !== undefined) await storeOptOut(ctx, link.listId, emailHash)
    if (hasUnsubscribed && campaignId)
      await recordEngagement(ctx, { campaignId, contactId: ids.contactId }, 'unsubscribed')
  })
}
