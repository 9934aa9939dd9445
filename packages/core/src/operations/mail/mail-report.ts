import { classifyBounce } from '../../mail/bounces/classify-bounce.ts'
import type { ProviderReport } from '../../mail/providers/provider-report.ts'
import type { MailEventInput } from './mail-events.schema.ts'

/**
 * A report about one email, from a delivery report, a hook of a provider, a refusal while sending, or `POST
 * /mail-events`. What identifies the email must be authentic: `recipientToken` proves itself, the ids are the word of a
 * client or provider that was authenticated. `email` may be anything, unless `isEmailProven`.
 */
export interface MailReport extends ProviderReport {
  /**
   * An authenticated client chose `email`. A provider may repeat what a remote server wrote: the address that the email
   * was forwarded to, or any other.
   */
  isEmailProven?: boolean
  /**
   * The bounce names other addresses only, such as a member of the list that the email was sent to, which exists. It is
   * recorded with its campaign, and neither suppresses nor counts.
   */
  isOfOtherAddress?: boolean
  /** The server refused the email while it was sent: its recipient is FAILED. */
  isRefusal?: boolean
}

/** The report of a client, whose `permanent` decides: it may know more than the code. */
export function toMailReport(input: MailEventInput): MailReport {
  const { type, email, messageId, permanent, detail } = input
  const isBounce = type === 'BOUNCE'
  return {
    type,
    email,
    isEmailProven: true,
    recipientToken: null,
    messageId: messageId ?? null,
    providerMessageId: null,
    class: isBounce ? (permanent ? 'HARD' : 'SOFT') : null,
    code: isBounce ? classifyBounce({ text: detail }).code : null,
    detail,
  }
}
