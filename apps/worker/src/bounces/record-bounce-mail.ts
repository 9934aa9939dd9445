import { findReportedWorkspace } from '@rapport/core/operations/mail/find-reported-workspace.ts'
import { reportMailEvent } from '@rapport/core/operations/mail/mail-events.ts'
import { findToken, openRecipientToken, type RecipientToken } from '@rapport/core/mail/bounces/recipient-token.ts'
import type { BaseCtx, Settings } from '@rapport/core/request/context.ts'
import { selectReport } from './parsing/delivery-status.ts'
import type { MailContent, ParsedReport } from './parsing/parsed-report.ts'

/** Returns the token of a return path. Undefined for any other address. */
export function findValidToken({ keys }: Settings, address: string): string | undefined {
  const token = findToken(address.slice(0, address.lastIndexOf('@')))
  return token !== undefined && openRecipientToken(keys, token) ? token : undefined
}

/** Whether an address is that of the feedback loops: `fbl@<return path>`. */
export const isFeedbackAddress = (address: string): boolean => /^fbl@/i.test(address)

/**
 * Records what a mail to a return path reports, and commits. Returns whether it was a report. The token proves the
 * recipient; the content only says what happened. A repeated mail is a no-op.
 */
export async function recordBounceMail(base: BaseCtx, token: string, content: MailContent): Promise<boolean> {
  const opened = openRecipientToken(base.settings.keys, token)
  const { complaint, bounce } = content
  const parsed = opened && (complaint ?? (bounce && selectReport(bounce, opened.isAddress)))
  return opened && parsed ? record(base, { token, opened, parsed }) : false
}

/**
 * Records the complaint in a mail of a feedback loop, and commits. The token of the email that it is about proves the
 * recipient. Returns whether the mail contains a valid token.
 */
export async function recordFeedback(base: BaseCtx, { tokens, complaint }: MailContent): Promise<boolean> {
  const { keys } = base.settings
  const token = tokens.find((candidate) => openRecipientToken(keys, candidate))
  const opened = token && openRecipientToken(keys, token)
  if (!opened) return false
  if (complaint) await record(base, { token, opened, parsed: complaint })
  return true
}

interface Reported {
  token: string
  opened: RecipientToken
  parsed: ParsedReport
}

async function record(base: BaseCtx, { token, opened, parsed }: Reported): Promise<boolean> {
  const email = parsed.emails.find(opened.isAddress) ?? null
  const isOfOtherAddress = parsed.type === 'BOUNCE' && email === null && parsed.emails.length > 0
  const bounce = parsed.type === 'BOUNCE' ? parsed.bounce : { class: null, code: null }
  const report = {
    type: parsed.type,
    email,
    isOfOtherAddress,
    recipientToken: token,
    messageId: null,
    providerMessageId: null,
    ...bounce,
    ...(isOfOtherAddress && bounce.class === 'HARD' && { class: 'SOFT' as const }),
    detail: parsed.detail,
  }
  const workspaceId = await findReportedWorkspace(base, report)
  if (workspaceId === undefined) return false
  await reportMailEvent({ ...base, workspaceId, actor: { kind: 'system' } }, report)
  return true
}
