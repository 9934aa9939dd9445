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
  /** The email brings the person their data, and has no link. */
  personalData?: MailData['personalData']
  /** The language of the page or form on which the person asked for it. */
  locale?: string | null | undefined
}

/**
 * Emails a link that confirms a subscription, grants tracking, or both; or personal data. Returns false if a limit of
 * `takeConfirmationQuota` is reached or the workspace may not send mail yet.
 */
export async function requestConfirmationMail(
  ctx: Ctx,
  { email, listId, contactId, tracking, personalData, locale }: Requested,
): Promise<boolean> {
  const scope = { listId, ...(personalData && { kind: 'PERSONAL_DATA' as const }) }
  if (!(await canMail(ctx)) || !(await takeConfirmationQuota(ctx, email, scope))) return false
  const data = {
    contactId,
    ...(listId && { listId }),
    ...(tracking?.length && { tracking }),
    ...(personalData && { personalData }),
    ...(locale && { locale }),
  }
  await enqueueMail(ctx, { kind: 'CONFIRMATION', to: email, data })
  return true
}
