import type { ContactId, ListId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { takeConfirmationQuota } from './mail-quotas.ts'
import { enqueueMail } from './mails.ts'
import { canMail } from './verified-owner.ts'

interface Requested {
  email: string
  listId: ListId
  contactId: ContactId
}

/**
 * Emails a link that confirms a subscription. Returns false if a limit of `takeConfirmationQuota` is reached or the
 * workspace may not send mail yet.
 */
export async function requestConfirmationMail(ctx: Ctx, { email, listId, contactId }: Requested): Promise<boolean> {
  if (!(await canMail(ctx)) || !(await takeConfirmationQuota(ctx, email, listId))) return false
  await enqueueMail(ctx, { kind: 'CONFIRMATION', to: email, data: { listId, contactId } })
  return true
}
