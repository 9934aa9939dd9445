import { findReportedWorkspace } from '@rapport/core/operations/mail/find-reported-workspace.ts'
import { reportMailEvent } from '@rapport/core/operations/mail/mail-events.ts'
import { findToken, openRecipientToken } from '@rapport/core/mail/bounces/recipient-token.ts'
import type { BaseCtx, Settings } from '@rapport/core/request/context.ts'
import { parseReport } from './parse-report.ts'

export const maxMessageBytes = 512 * 1024

/** Returns the token of a return path. Undefined for any other address. */
export function findValidToken({ keys }: Settings, address: string): string | undefined {
  const token = findToken(address.slice(0, address.lastIndexOf('@')))
  return token !== undefined && openRecipientToken(keys, token) ? token : undefined
}

/**
 * Records what a mail to a return path reports, and commits. Returns whether it was a report. The token proves the
 * recipient; the content only says what happened. A repeated mail is a no-op.
 */
export async function recordBounceMail(base: BaseCtx, token: string, raw: Uint8Array): Promise<boolean> {
  const opened = openRecipientToken(base.settings.keys, token)
  const parsed = opened && (await parseReport(raw, opened.isAddress))
  if (!parsed) return false
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
