/**
 * Webhooks of Postmark: https://postmarkapp.com/developer/webhooks/webhooks-overview
 *
 * Postmark signs nothing. A secret in the request stands for the signature: the password of basic authentication, which
 * Postmark reads from the URL, or a bearer token, which it sends as a custom header.
 */
import { z } from 'zod'
import { isSameSecret } from '../../kernel/crypto.ts'
import { readAddress, Text } from './hook-fields.ts'
import { type HookReader, malformedMessage, parseJson, refusedMessage } from './hook-message.ts'
import { describeBounce, describeComplaint, describeOptOut, type ProviderReport } from './provider-report.ts'
import type { BounceClass } from '../bounces/bounce.schema.ts'

const Message = z.object({
  RecordType: z.string(),
  Type: Text,
  MessageID: Text,
  Email: Text,
  /** Of a SubscriptionChange. */
  Recipient: Text,
  Origin: Text,
  SuppressSending: z.boolean().nullish().catch(null),
  SuppressionReason: Text,
  ChangedAt: Text,
  BouncedAt: Text,
  Description: Text,
  Details: Text,
  /** The bounce as it was received, if "Include bounce content" is on. */
  Content: Text,
})
type Message = z.output<typeof Message>

export const readPostmarkMessage: HookReader = ({ headers, body }, { secret }) => {
  if (!isSameSecret(readCredential(headers.authorization ?? ''), secret)) throw refusedMessage()
  const { data: message } = Message.safeParse(parseJson(body))
  if (!message) throw malformedMessage('Postmark')
  return { reports: [readReport(message) ?? []].flat() }
}

/** The password of basic authentication, with any user name, or the bearer token. */
function readCredential(authorization: string): string {
  const [, scheme = '', value = ''] = /^(basic|bearer) +(\S+)$/i.exec(authorization) ?? []
  if (scheme.toLowerCase() !== 'basic') return value
  const decoded = Buffer.from(value, 'base64').toString()
  return decoded.slice(decoded.indexOf(':') + 1)
}

/**
 * The types that report a bounce. Postmark tries again after `Transient`; the others are replies, or
 * faults of the account, such as `SMTPApiError`.
 */
const classes: ReadonlyMap<string, BounceClass> = new Map(
  Object.entries({
    HardBounce: 'HARD',
    BadEmailAddress: 'HARD',
    SoftBounce: 'SOFT',
    DnsError: 'SOFT',
    Unknown: 'SOFT',
    VirusNotification: 'MESSAGE',
    SpamNotification: 'POLICY',
    Blocked: 'POLICY',
    DMARCPolicy: 'POLICY',
  } as const),
)

function readReport(message: Message): ProviderReport | undefined {
  const type = message.Type ?? ''
  const about = {
    email: readAddress(message.Email ?? message.Recipient),
    recipientToken: null,
    // A remote server wrote the bounce: what it contains counts only without the id of Postmark.
    messageId: message.MessageID === null ? findMessageId(message.Content ?? '') : null,
    providerMessageId: message.MessageID,
  }
  if (message.RecordType === 'SubscriptionChange') {
    const description = describeChange(message)
    return description && { ...about, ...description }
  }
  if (message.RecordType === 'SpamComplaint' || type === 'SpamComplaint') return { ...about, ...describeComplaint() }
  if (message.RecordType === 'Bounce' && type === 'Unsubscribe')
    return { ...about, ...describeOptOut(message.BouncedAt) }
  const otherwise = classes.get(type)
  if (message.RecordType !== 'Bounce' || !otherwise) return undefined
  const { Details: response, Description: detail } = message
  return { ...about, ...describeBounce({ response, detail, otherwise, isPermanent: otherwise === 'HARD' }) }
}

/** A suppression is the word of the person only if the person made it, and a hard bounce is reported by itself. */
function describeChange({ SuppressSending, SuppressionReason, Origin, ChangedAt }: Message) {
  if (!SuppressSending) return undefined
  if (SuppressionReason === 'SpamComplaint') return describeComplaint()
  return SuppressionReason === 'ManualSuppression' && Origin === 'Recipient' ? describeOptOut(ChangedAt) : undefined
}

/** The Message-ID of the returned email, the last one of the bounce: Postmark gives emails another id of its own. */
const findMessageId = (content: string) => [...content.matchAll(/^message-id:\s*(<[^<>\s]+>)/gim)].at(-1)?.[1] ?? null
