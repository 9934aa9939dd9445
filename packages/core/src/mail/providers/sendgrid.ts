/**
 * Event webhooks of Twilio SendGrid, which sends several events in one message:
 * https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event
 */
import { createPublicKey, type KeyObject, verify } from 'node:crypto'
import { z } from 'zod'
import type { BounceClass } from '../bounces/bounce.schema.ts'
import { type HookReader, isRecent, malformedMessage, parseJson, parseSeconds, refusedMessage } from './hook-message.ts'
import { describeBounce, describeComplaint, type ProviderReport, Text } from './provider-report.ts'

const Event = z.object({
  event: Text,
  email: Text,
  type: Text,
  status: Text,
  reason: Text,
  bounce_classification: Text,
  sg_message_id: Text,
  'smtp-id': Text,
})
type Event = z.output<typeof Event>

const signatureHeader = 'x-twilio-email-event-webhook-signature'
const timestampHeader = 'x-twilio-email-event-webhook-timestamp'

export const readSendgridMessage: HookReader = ({ headers, body }, { secret, now }) => {
  const { [signatureHeader]: signature = '', [timestampHeader]: timestamp = '' } = headers
  const key = parsePublicKey(secret)
  const isSigned =
    key !== undefined &&
    verify('sha256', Buffer.concat([Buffer.from(timestamp), body]), key, Buffer.from(signature, 'base64'))
  if (!isSigned || !isRecent(parseSeconds(timestamp), now)) throw refusedMessage()
  const { data: events } = z.array(Event).safeParse(parseJson(body))
  if (!events) throw malformedMessage('Twilio SendGrid')
  return { reports: events.flatMap((event) => readReport(event) ?? []) }
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
    email: event.email,
    recipientToken: null,
    messageId: event['smtp-id'],
    // The id of the SMTP response, then what the servers of SendGrid add.
    providerMessageId: event.sg_message_id?.split('.')[0] ?? null,
  }
  if (event.event === 'spamreport') return { ...about, ...describeComplaint() }
  if (event.event === 'dropped') {
    return { ...about, ...describeBounce({ detail: event.reason, otherwise: classOfDropped(event.reason) }) }
  }
  if (event.event !== 'bounce') return undefined
  const otherwise = classifications.get(event.bounce_classification?.toLowerCase() ?? '') ?? 'SOFT'
  const isPermanent = event.type !== 'blocked'
  return {
    ...about,
    ...describeBounce({ status: event.status, response: event.reason, otherwise, isPermanent }),
  }
}

/** For a bounce without a status code. */
const classifications: ReadonlyMap<string, BounceClass> = new Map(
  Object.entries({
    'invalid address': 'HARD',
    content: 'MESSAGE',
    reputation: 'POLICY',
    'frequency or volume too high': 'POLICY',
  } as const),
)

/** SendGrid did not try the email. An address on one of its suppression lists is SOFT: the list has other reasons too. */
function classOfDropped(reason: string | null): BounceClass {
  if (reason?.toLowerCase() === 'invalid') return 'HARD'
  return /spam content|smtpapi/i.test(reason ?? '') ? 'MESSAGE' : 'SOFT'
}
