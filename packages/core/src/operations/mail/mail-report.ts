import { type Bounce, classifyBounce } from '../../mail/bounces/classify-bounce.ts'
import type { MailEventInput } from './mail-events.schema.ts'

/**
 * A report about one email, from a delivery report, a hook of a provider, a refusal while sending, or `POST
 * /mail-events`. What identifies the email must be authentic: `recipientToken` proves itself, the other fields are the
 * word of a client or provider that was authenticated. With a token, `email` may be anything.
 */
export interface MailReport {
  type: 'BOUNCE' | 'COMPLAINT'
  email: string | null
  /** See `mail/bounces/recipient-token.ts`. An invalid one makes the report void. */
  recipientToken: string | null
  messageId: string | null
  /** The id that the mail provider gave the email. */
  providerMessageId: string | null
  /** Null for a complaint. */
  class: Bounce['class'] | null
  /** Null for a complaint, or if unknown. */
  code: string | null
  /** The response of the receiving server. */
  detail: string
  /** The server refused the email while it was sent: its recipient is FAILED, and not counted as `bounced`. */
  isRefusal?: boolean
}

/** The report of a client, whose `permanent` decides: it may know more than the code. */
export function toMailReport(input: MailEventInput): MailReport {
  const { type, email, messageId, permanent, detail } = input
  const isBounce = type === 'BOUNCE'
  return {
    type,
    email,
    recipientToken: null,
    messageId: messageId ?? null,
    providerMessageId: null,
    class: isBounce ? (permanent ? 'HARD' : 'SOFT') : null,
    code: isBounce ? classifyBounce({ text: detail }).code : null,
    detail,
  }
}
