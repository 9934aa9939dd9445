import type { mailProviders } from '../../db/schema/index.ts'
import type { HookReader } from './hook-message.ts'
import { readMailgunMessage } from './mailgun.ts'
import { readPostmarkMessage } from './postmark.ts'
import { readResendMessage } from './resend.ts'
import { parsePublicKey, readSendgridMessage } from './sendgrid.ts'
import { readSesMessage } from './ses.ts'
import { originOfTopic } from './sns.ts'

export type MailProvider = (typeof mailProviders)[number]

export const readProviderMessage: Readonly<Record<MailProvider, HookReader>> = {
  mailgun: readMailgunMessage,
  postmark: readPostmarkMessage,
  resend: readResendMessage,
  sendgrid: readSendgridMessage,
  ses: readSesMessage,
}

/** What a secret of the provider must be, and whether a text is one. A wrong one would refuse every message. */
export const secretRules: Readonly<Record<MailProvider, { isValid: (secret: string) => boolean; problem: string }>> = {
  mailgun: {
    isValid: (secret) => /^\S{16,}$/.test(secret),
    problem: 'must be the HTTP webhook signing key of Mailgun',
  },
  postmark: {
    isValid: (secret) => /^[\w-]{16,}$/.test(secret),
    problem: 'must be a password of at least 16 letters, digits, "-" and "_", which the URL at Postmark contains too',
  },
  resend: {
    isValid: (secret) => /^whsec_[A-Za-z0-9+/]{20,}={0,2}$/.test(secret),
    problem: 'must be the signing secret of the webhook at Resend, which starts with "whsec_"',
  },
  sendgrid: {
    isValid: (secret) => parsePublicKey(secret) !== undefined,
    problem: 'must be the verification key of the signed event webhook, a public key in base64',
  },
  ses: {
    isValid: (secret) => originOfTopic(secret) !== undefined,
    problem: 'must be the ARN of the Amazon SNS topic, such as arn:aws:sns:eu-central-1:123456789012:mail',
  },
}
