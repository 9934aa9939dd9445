/**
 * Webhooks of Mailgun: https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/securing-webhooks
 *
 * The signature covers a timestamp and a token, not the event, so a token must be accepted only once.
 */
import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { isSameSecret } from '../../kernel/crypto.ts'
import { findTokenOf, readAddress, Text } from './hook-fields.ts'
import { type HookReader, isRecent, malformedMessage, parseJson, parseSeconds, refusedMessage } from './hook-message.ts'
import {
  describeBounce,
  describeComplaint,
  describeOptOut,
  describeUntried,
  type ProviderReport,
} from './provider-report.ts'

const Signed = z.object({
  signature: z.object({
    timestamp: z.union([z.string(), z.number()]).transform(String),
    token: z.string().min(1).max(200),
    signature: z.string(),
  }),
})

const Event = z.object({
  event: z.string(),
  id: Text,
  timestamp: z.number().nullish().catch(null),
  severity: Text,
  reason: Text,
  recipient: Text,
  envelope: z.object({ sender: Text }).nullish(),
  message: z.object({ headers: z.object({ 'message-id': Text }).nullish() }).nullish(),
  'delivery-status': z
    .object({ code: z.number().nullish().catch(null), 'enhanced-code': Text, message: Text, description: Text })
    .nullish(),
})
type Event = z.output<typeof Event>

const Message = z.object({ 'event-data': Event })

export const readMailgunMessage: HookReader = ({ body }, { secret, now }) => {
  const json = parseJson(body)
  const { data: signed } = Signed.safeParse(json)
  if (!signed) throw refusedMessage()
  const { timestamp, token, signature } = signed.signature
  const expected = createHmac('sha256', secret).update(`${timestamp}${token}`).digest('hex')
  if (!isSameSecret(signature, expected) || !isRecent(parseSeconds(timestamp), now)) throw refusedMessage()
  const { data: message } = Message.safeParse(json)
  if (!message) throw malformedMessage('Mailgun')
  return { reports: [readReport(message['event-data']) ?? []].flat(), signedToken: token }
}

function readReport(event: Event): ProviderReport | undefined {
  const about = {
    email: readAddress(event.recipient),
    recipientToken: findTokenOf(event.envelope?.sender),
    messageId: event.message?.headers?.['message-id'] ?? null,
    // Mailgun gives no id in its SMTP response, and keeps the Message-ID.
    providerMessageId: null,
  }
  if (event.event === 'complained') return { ...about, ...describeComplaint() }
  const eventId = event.id ?? event.timestamp?.toString() ?? null
  if (event.event === 'unsubscribed') return { ...about, ...describeOptOut(eventId) }
  // `rejected` is a fault of the account. Mailgun tries again after a temporary failure.
  if (event.event !== 'failed' || event.severity !== 'permanent') return undefined
  if (event.reason === 'suppress-unsubscribe') return { ...about, ...describeOptOut(eventId) }
  if (event.reason === 'suppress-complaint') return { ...about, ...describeComplaint() }
  const { code, 'enhanced-code': status = null, message = null, description = null } = event['delivery-status'] ?? {}
  // Mailgun did not try an address on one of its suppression lists. Its own codes, such as 605, are no SMTP replies.
  if (event.reason?.startsWith('suppress-')) return { ...about, ...describeUntried(description ?? event.reason) }
  const reply = code && code >= 400 && code < 600 ? `${code} ` : ''
  const response = `${reply}${status ? `${status} ` : ''}${message ?? description ?? ''}`
  return { ...about, ...describeBounce({ response }) }
}
