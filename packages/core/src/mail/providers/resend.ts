/** Webhooks of Resend, signed as Standard Webhooks: https://resend.com/docs/webhooks/verify-webhooks-requests */
import { createHmac } from 'node:crypto'
import { z } from 'zod'
import { isSameSecret } from '../../kernel/crypto.ts'
import { readAddress, Text } from './hook-fields.ts'
import {
  type HookReader,
  type HookRequest,
  isRecent,
  malformedMessage,
  parseJson,
  parseSeconds,
  refusedMessage,
} from './hook-message.ts'
import { describeComplaint, describeUntried, type ProviderReport } from './provider-report.ts'
import { describeSesBounce } from './ses-words.ts'

/** Each attempt is signed with its own time. The limit is that of Standard Webhooks. */
const maxAttemptAgeMs = 5 * 60_000

const Bounce = z.object({
  message: Text,
  type: Text,
  subType: Text,
  diagnosticCode: z.union([z.array(Text), Text]).nullish(),
})

const Message = z.object({
  type: z.string(),
  data: z.object({
    email_id: Text,
    message_id: Text,
    to: z.union([z.array(Text), Text]),
    bounce: Bounce.nullish(),
    suppressed: z.object({ message: Text }).nullish(),
  }),
})
type Message = z.output<typeof Message>

export const readResendMessage: HookReader = (request, { secret, now }) => {
  const signedAt = parseSeconds(header(request, 'timestamp'))
  if (!isRecent(signedAt, now, maxAttemptAgeMs) || !hasSignature(request, secret)) throw refusedMessage()
  const { data: message } = Message.safeParse(parseJson(request.body))
  if (!message) throw malformedMessage('Resend')
  return { reports: [readReport(message) ?? []].flat() }
}

/** Resend sends the names of Svix, which implements the standard under both names. */
const header = ({ headers }: HookRequest, name: string) => headers[`svix-${name}`] ?? headers[`webhook-${name}`] ?? ''

/** A header has several signatures while the secret is rotated. */
function hasSignature(request: HookRequest, secret: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signed = Buffer.concat([Buffer.from(`${header(request, 'id')}.${header(request, 'timestamp')}.`), request.body])
  const expected = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
  const signatures = header(request, 'signature').split(' ')
  return signatures.filter((signature) => isSameSecret(signature, expected)).length > 0
}

function readReport({ type, data }: Message): ProviderReport | undefined {
  const about = {
    email: readAddress([data.to].flat().join(', ')),
    recipientToken: null,
    messageId: data.message_id,
    providerMessageId: data.email_id,
  }
  if (type === 'email.complained') return { ...about, ...describeComplaint() }
  if (type === 'email.suppressed') return { ...about, ...describeUntried(data.suppressed?.message ?? null) }
  if (type !== 'email.bounced') return undefined
  const { message = null, type: bounceType = null, subType: bounceSubType = null, diagnosticCode } = data.bounce ?? {}
  const [response = null] = [diagnosticCode ?? null].flat()
  const description = describeSesBounce({ bounceType, bounceSubType, response, detail: message })
  return description && { ...about, ...description }
}
