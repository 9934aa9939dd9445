/**
 * Webhooks of Postmark: https://postmarkapp.com/developer/webhooks/webhooks-overview
 *
 * Postmark signs nothing. A secret in the request stands for the signature: the password of basic authentication, which
 * Postmark reads from the URL, or a bearer token, which it sends as a custom header.
 */
import { z } from 'zod'
import { isSameSecret } from '../../kernel/crypto.ts'
import { type HookReader, malformedMessage, parseJson, refusedMessage } from './hook-message.ts'
import { describeBounce, describeComplaint, type ProviderReport, Text } from './provider-report.ts'
import type { BounceClass } from '../bounces/bounce.schema.ts'

const Message = z.object({
  RecordType: z.string(),
  Type: Text,
  MessageID: Text,
  Email: Text,
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
  const report = readReport(message)
  return { reports: report ? [report] : [] }
}

/** The password of basic authentication, with any user name, or the bearer token. */
function readCredential(authorization: string): string {
  const [, scheme = '', value = ''] = /^(basic|bearer) +(\S+)$/i.exec(authorization) ?? []
  if (scheme.toLowerCase() !== 'basic') return value
  const decoded = Buffer.from(value, 'base64').toString()
  return decoded.slice(decoded.indexOf(':') + 1)
}

/** The types that report a bounce. Postmark tries again after `Transient`; the others are no bounces, such as a reply. */
const classes: ReadonlyMap<string, BounceClass> = new Map(
  Object.entries({
    HardBounce: 'HARD',
    BadEmailAddress: 'HARD',
    SoftBounce: 'SOFT',
    DnsError: 'SOFT',
    Unknown: 'SOFT',
    VirusNotification: 'MESSAGE',
    TemplateRenderingFailed: 'MESSAGE',
    SMTPApiError: 'MESSAGE',
    SpamNotification: 'POLICY',
    Blocked: 'POLICY',
    DMARCPolicy: 'POLICY',
  } as const),
)

function readReport(message: Message): ProviderReport | undefined {
  const type = message.Type ?? ''
  const about = {
    email: message.Email,
    recipientToken: null,
    // A remote server wrote the bounce: what it contains counts only without the id of Postmark.
    messageId: message.MessageID === null ? findMessageId(message.Content ?? '') : null,
    providerMessageId: message.MessageID,
  }
  if (message.RecordType === 'SpamComplaint' || type === 'SpamComplaint') {
    return { ...about, ...describeComplaint() }
  }
  const otherwise = classes.get(type)
  if (message.RecordType !== 'Bounce' || !otherwise) return undefined
  const { Details: response, Description: detail } = message
  return { ...about, ...describeBounce({ response, detail, otherwise, isPermanent: otherwise === 'HARD' }) }
}

/** The Message-ID of the returned email, the last one of the bounce: Postmark gives emails another id of its own. */
const findMessageId = (content: string) => [...content.matchAll(/^message-id:\s*(<[^<>\s]+>)/gim)].at(-1)?.[1] ?? null
