import type { MailData } from '../db/schema/index.ts'
import type { ContactId, ListId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'
import { readQuotas } from '../quotas/require-quota.ts'
import { hasBudget } from './budget/budgets.ts'
import { lockVisitorMails, replaceWaitingMail, storeVisitorMail } from './budget/visitor-mails.ts'
import { takeConfirmationQuota } from './mail-quotas.ts'
import { enqueueMail, type RequestedMailKind } from './mails.ts'
import { canMail } from './verified-owner.ts'

interface Requested {
  /**
   * `CONFIRMATION`: its link confirms a subscription, and grants `tracking` too. `TRACKING_CONSENT`: its link grants
   * `tracking`. `PERSONAL_DATA`: it brings the person their data, and has no link.
   */
  kind: RequestedMailKind
  email: string
  listId?: ListId
  contactId: ContactId
  /** No link that was mailed before confirms any more: the next one need not wait ten minutes. */
  isAfterRemoval?: boolean | undefined
  /** Whether the link of a mail of this moment does nothing any more: that mail is not sent. Default: it does. */
  isRefused?: (issuedAt: Timestamp) => boolean
  tracking?: MailData['tracking'] | undefined
  /** The language of the page or form on which the person asked for it. */
  locale?: string | null | undefined
}

interface Mailed {
  /** The moment of an email that waited already, and of its link. Of a new one, it is the start of the transaction. */
  waitingSince: Timestamp | undefined
}

/**
 * Emails what a person asked for: at once if a caller with a credential says so, otherwise as the budget of the workspace
 * allows, which the caller does not learn. Returns undefined if a limit of `takeConfirmationQuota` is reached or the workspace
 * may not send mail yet.
 */
export async function requestConfirmationMail(
  ctx: Ctx,
  { kind, email, listId, contactId, isAfterRemoval, isRefused = () => false, tracking, locale }: Requested,
): Promise<Mailed | undefined> {
  if (!(await canMail(ctx))) return undefined
  const quotas = await readQuotas(ctx)
  const { mailsPerAddress } = quotas
  const subject = { kind, contactId, listId }
  const isVisitor = ctx.actor.kind === 'public'
  const { isSent, waiting, areVoid } = await lockVisitorMails(ctx, subject, { email, isRefused })
  if (isSent && !isAfterRemoval) return undefined
  const limits = { kind, listId, mayFollowAtOnce: isAfterRemoval || areVoid, mailsPerAddress }
  if (!waiting && !(await takeConfirmationQuota(ctx, email, limits))) return undefined
  const data = {
    contactId,
    ...(listId && { listId }),
    ...(tracking?.length && { tracking }),
    ...(locale && { locale }),
  }
  if (isVisitor && hasBudget(quotas, kind)) {
    await storeVisitorMail(ctx, subject, { to: email, data, waitingId: waiting?.id })
    return { waitingSince: waiting?.createdAt }
  }
  await replaceWaitingMail(ctx, subject)
  await enqueueMail(ctx, { kind, to: email, data })
  return { waitingSince: undefined }
}
