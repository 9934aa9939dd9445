import { z } from 'zod'
import { mailProviders } from '../db/schema/index.ts'
import { RecordId } from '../kernel/ids.ts'
import { CreatedAt, SingleLine } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { secretRules } from '../mail/providers/read-message.ts'
import { PageQuery, Sort } from '../request/paging.ts'

export const Provider = z
  .enum(mailProviders)
  .meta({ description: 'The mail provider that sends the messages.', examples: ['ses'] })

export const MailHook = z
  .object({
    id: RecordId('mhk'),
    provider: Provider,
    url: z
      .string()
      .describe(
        'The URL to enter at the provider. It is no secret: every message needs the signature of the provider too.',
      ),
    lastMessageAt: Timestamp.nullable().meta({
      description: 'When the last message with a valid signature arrived, to the minute. `null` before the first.',
    }),
    createdAt: CreatedAt,
  })
  .meta({
    id: 'MailHook',
    description: 'A URL that receives the bounces and complaints of a mail provider.',
    examples: [
      {
        id: 'mhk_01kag7m3v9e8fs2t4w6x8y0z1b',
        provider: 'ses',
        url: 'https://crm.example.com/mail-events/ses/mhk_01kag7m3v9e8fs2t4w6x8y0z1b',
        lastMessageAt: '2026-11-22T09:12:30.456Z',
        createdAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type MailHook = z.output<typeof MailHook>

export const MailHookInput = z
  .strictObject({
    provider: Provider,
    secret: SingleLine(1_000, 1).describe(
      'What proves that a message is of the provider. `ses`: the ARN of the Amazon SNS topic. `sendgrid`: the verification key. `mailgun`: the HTTP webhook signing key. `resend`: the signing secret. `postmark`: a password of your choice for the URL, because Postmark signs nothing. Stored encrypted, and never returned.',
    ),
  })
  .superRefine(({ provider, secret }, check) => {
    const { isValid, problem } = secretRules[provider]
    if (!isValid(secret)) check.addIssue({ code: 'custom', path: ['secret'], message: problem })
  })
  .meta({
    id: 'MailHookCreate',
    description: 'A new mail hook.',
    examples: [{ provider: 'ses', secret: 'arn:aws:sns:eu-central-1:123456789012:mail' }],
  })
export type MailHookInput = z.output<typeof MailHookInput>

export const MailHookQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type MailHookQuery = z.output<typeof MailHookQuery>
