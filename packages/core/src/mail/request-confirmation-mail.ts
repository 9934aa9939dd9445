import type { MailData } from '../db/schema/index.ts'
import type { ContactId, ListId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { takeConfirmationQuota } from './mail-quotas.ts'
import { enqueueMail } from './mails.ts'
import { canMail } from './verified-owner.ts'

interface Requested {
  email: string
  /** Without a list, the link only grants tracking. */
  listId?: ListId
  contactId: ContactId
  tracking?: MailData['tracking'] | undefined
}

/**
 * Emails a link that confirms a subscription, grants tracking, or both. Returns false if a limit of `takeConfirmationQuota` is reached or the
 * workspace may not send mail yet.
 */
export async function requestConfirmationMail(
  ctx: Ctx,
  { email, listId, contactId, tracking }: Requested,
): Promise<boolean> {
  if (!(await canMail(ctx)) || !(await takeConfirmationQuota(ctx, email, listId))) return false
  const data = { contactId, ...(listId && { listId }), ...(tracking?.length && { tracking }) }
  await enqueueMail(ctx, { kind: 'CONFIRMATION', to: email, data })
  return true
}
