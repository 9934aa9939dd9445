/**
 * Messages of Amazon SNS: https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
 *
 * SNS signs the messages of every AWS account with the same certificate, so the secret of the hook is the ARN of its
 * topic: only the account of the topic can publish to it. The ARN also decides the only host that certificates and
 * confirmations are read from.
 */
import { verify, X509Certificate } from 'node:crypto'
import { z } from 'zod'
import { isSameSecret } from '../../kernel/crypto.ts'
import { type HookContext, type HookRequest, isRecent, parseJson, refusedMessage } from './hook-message.ts'

const Envelope = z.object({
  Type: z.enum(['Notification', 'SubscriptionConfirmation', 'UnsubscribeConfirmation']),
  MessageId: z.string(),
  TopicArn: z.string(),
  Message: z.string(),
  Timestamp: z.string(),
  Subject: z.string().nullish(),
  Token: z.string().optional(),
  SubscribeURL: z.string().optional(),
  SignatureVersion: z.enum(['1', '2']),
  Signature: z.string(),
  SigningCertURL: z.string(),
})
type Envelope = z.output<typeof Envelope>

const topicArn = /^arn:aws(-cn|-us-gov)?:sns:([a-z]{2}(?:-[a-z]+)+-\d):\d{12}:[\w-]{1,256}$/

/** Returns the origin of SNS for a topic. Undefined if the text is no ARN of a topic. */
export function originOfTopic(arn: string): string | undefined {
  const [, partition, region] = topicArn.exec(arn) ?? []
  return region && `https://sns.${region}.amazonaws.com${partition === '-cn' ? '.cn' : ''}`
}

/**
 * Verifies a message of the topic and returns the published text. Confirms the subscription, and returns undefined, if
 * the message asks for that.
 */
export async function readSnsMessage({ body }: HookRequest, context: HookContext): Promise<string | undefined> {
  const { data: envelope } = Envelope.safeParse(parseJson(body))
  const origin = originOfTopic(context.secret)
  if (!envelope || !origin || !isSameSecret(envelope.TopicArn, context.secret)) throw refusedMessage()
  if (!isRecent(Date.parse(envelope.Timestamp), context.now)) throw refusedMessage()
  if (!(await hasSignature(envelope, origin, context))) throw refusedMessage()
  if (envelope.Type === 'Notification') return envelope.Message
  if (envelope.Type === 'SubscriptionConfirmation') await confirmSubscription(envelope, origin, context)
  return undefined
}

async function hasSignature(envelope: Envelope, origin: string, { readUrl }: HookContext): Promise<boolean> {
  const url = envelope.SigningCertURL
  // The text itself is compared, so that no parser of URLs can find another host in it.
  if (!url.startsWith(`${origin}/`) || !/^\/[\w-]+\.pem$/.test(url.slice(origin.length))) return false
  const algorithm = envelope.SignatureVersion === '1' ? 'sha1' : 'sha256'
  const signature = Buffer.from(envelope.Signature, 'base64')
  const certificate = (await readUrl(url)) ?? ''
  try {
    const { publicKey } = new X509Certificate(certificate)
    return verify(algorithm, Buffer.from(signedText(envelope)), publicKey, signature)
  } catch {
    return false
  }
}

const signedNames = {
  Notification: ['Message', 'MessageId', 'Subject', 'Timestamp', 'TopicArn', 'Type'],
  SubscriptionConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
  UnsubscribeConfirmation: ['Message', 'MessageId', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'],
} as const

function signedText(envelope: Envelope): string {
  const pairs = signedNames[envelope.Type].map((name) => [name, envelope[name]] as const)
  return pairs.flatMap(([name, value]) => (typeof value === 'string' ? [`${name}\n${value}\n`] : [])).join('')
}

/** The URL is built from the parts that are known to be right, whatever `SubscribeURL` says. */
async function confirmSubscription({ TopicArn, Token = '' }: Envelope, origin: string, { readUrl }: HookContext) {
  const query = new URLSearchParams({ Action: 'ConfirmSubscription', TopicArn, Token })
  await readUrl(`${origin}/?${query.toString()}`)
}
