/**
 * Event webhooks of Twilio SendGrid, which sends several events in one message:
 * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event
 */
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'
import type { BounceClass } from '../bounces/bounce.schema.ts'
import { readAddress, Text } from './hook-fields.ts'
import { type HookReader, isRecent, malformedMessage, parseJson, parseSeconds, refusedMessage } from './hook-message.ts'
import {
  describeBounce,
  describeComplaint,
  describeOptOut,
  describeUntried,
  type ProviderReport,
} from './provider-report.ts'

const Event = z.object({
  event: Text,
  email: Text,
  type: Text,
  status: Text,
  reason: Text,
  bounce_classification: Text,
  sg_message_id: Text,
  sg_event_id: Text,
  timestamp: z.union([z.number(), z.string()]).nullish().catch(null),
  'smtp-id': Text,
})
type Event = z.output<typeof Event>

/** An object is an event: each of its properties may have any value. */
const isEvent = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)

const signatureHeader = 'x-twilio-email-event-webhook-signature'
const timestampHeader = 'x-twilio-email-event-webhook-timestamp'

/** Small, so that others wait for milliseconds: with 100, the p99 of their requests was 3 to 4 times as high. */
const partSize = 25

export const readSendgridMessage: HookReader = ({ headers, body }, { secret, now }) => {
  const { [signatureHeader]: signature = '', [timestampHeader]: timestamp = '' } = headers
  const key = parsePublicKey(secret)
  const isSigned =
    key !== undefined &&
    verify('sha256', Buffer.concat([Buffer.from(timestamp), body]), key, Buffer.from(signature, 'base64'))
  if (!isSigned || !isRecent(parseSeconds(timestamp), now)) throw refusedMessage()
  const { data: events } = z.array(z.unknown()).safeParse(parseJson(body))
  if (!events?.every(isEvent)) throw malformedMessage('Twilio SendGrid')
  const parts = Array.from({ length: Math.ceil(events.length / partSize) }, (_, at) => () => {
    const part = events.slice(at * partSize, (at + 1) * partSize)
    return part.flatMap((event) => readReport(Event.parse(event)) ?? [])
  })
  return { parts }
}

/** Parses the verification key: a public key of the curve P-256, as base64 of its DER form, or as PEM. */
export function parsePublicKey(text: string): KeyObject | undefined {
  const base64 = text.replace(/-----[A-Z ]+-----/g, '').replace(/\s/g, '')
  try {
    const key = createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' })
    return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined
  } catch {
    return undefined
  }
}

function readReport(event: Event): ProviderReport | undefined {
  const about = {
    email: readAddress(event.email),
    recipientToken: null,
    messageId: event['smtp-id'],
    // The id of the SMTP response, then what the servers of SendGrid add.
    providerMessageId: event.sg_message_id?.split('.')[0] ?? null,
  }
  if (event.event === 'spamreport') return { ...about, ...describeComplaint() }
  if (event.event === 'unsubscribe' || event.event === 'group_unsubscribe')
    return { ...about, ...describeOptOut(idOf(event)) }
  if (event.event === 'dropped') {
    const description = describeDropped(event)
    return description && { ...about, ...description }
  }
  if (event.event !== 'bounce') return undefined
  const otherwise = classifications.get(event.bounce_classification?.toLowerCase() ?? '')
  const isPermanent = event.type !== 'blocked'
  return {
    ...about,
    ...describeBounce({ status: event.status, response: event.reason, otherwise, isPermanent }),
  }
}

const idOf = ({ sg_event_id: id, timestamp }: Event) => id ?? timestamp?.toString() ?? null

/** For a bounce without a status code. */
const classifications: ReadonlyMap<string, BounceClass> = new Map(
  Object.entries({
    'invalid address': 'HARD',
    content: 'MESSAGE',
    reputation: 'POLICY',
    'frequency or volume too high': 'POLICY',
  } as const),
)

/**
 * SendGrid did not try the email. Some of its lists repeat what the person said. A quota of the package and a wrong header
 * are faults of the account, which say nothing about the address.
 */
function describeDropped(event: Event) {
  const reason = event.reason?.toLowerCase() ?? ''
  // Before the unsubscribed: a fault of the account may speak of links and groups.
  if (reason.startsWith('spam content')) return describeBounce({ detail: event.reason, otherwise: 'MESSAGE' })
  if (/quota|smtpapi/.test(reason)) return undefined
  if (reason.includes('unsubscribe')) return describeOptOut(idOf(event))
  if (reason.startsWith('spam reporting address')) return describeComplaint()
  return describeUntried(event.reason)
}
