import { z } from 'zod'

const UsageOfQuota = z
  .object({
    used: z
      .number()
      .int()
      .nullable()
      .describe(
        'How much is used. `null` for a limit whose use is not counted: on each process, address or import, and on what is under way at once.',
      ),
    isEstimate: z.boolean().describe('Whether `used` is an estimate, as for more than 10,000 contacts or notes.'),
    limit: z.number().int().nullable().describe('The limit. `null` for none.'),
  })
  .meta({
    id: 'QuotaUsage',
    description: 'The use of a quota.',
    examples: [{ used: 12, isEstimate: false, limit: 200 }],
  })
export type UsageOfQuota = z.output<typeof UsageOfQuota>

export const Usage = z
  .object({
    contacts: UsageOfQuota.describe('Contacts.'),
    companies: UsageOfQuota.describe('Companies.'),
    lists: UsageOfQuota.describe('Lists.'),
    forms: UsageOfQuota.describe('Forms.'),
    segments: UsageOfQuota.describe('Segments.'),
    pipelines: UsageOfQuota.describe('Pipelines.'),
    apiKeys: UsageOfQuota.describe('API keys.'),
    webhooks: UsageOfQuota.describe('Webhooks.'),
    domains: UsageOfQuota.describe('Sending domains.'),
    customFields: UsageOfQuota.describe('Custom fields.'),
    customFieldBytes: UsageOfQuota.describe('The bytes of the options of all custom fields.'),
    campaignBytes: UsageOfQuota.describe('The bytes of `html` and `text` of all campaigns.'),
    requests: UsageOfQuota.describe('The requests under way at once in each API process.'),
    exports: UsageOfQuota.describe('The exports under way at once.'),
    imports: UsageOfQuota.describe('The imports that are not finished.'),
    importBytes: UsageOfQuota.describe('The uncompressed bytes of one import.'),
    campaignMails: UsageOfQuota.describe('The recipients of campaigns that were sent in the last 24 hours.'),
    singleMails: UsageOfQuota.describe('The test emails and invites in the last 24 hours.'),
    mailsPerAddress: UsageOfQuota.describe('The emails of one kind to one address in 24 hours.'),
    confirmations: UsageOfQuota.describe(
      'The confirmation emails that visitors caused in the last 24 hours. Each link that was used in the last seven days allows five more than the limit.',
    ),
    personalDataMails: UsageOfQuota.describe(
      'The emails of personal data that contacts asked for in the last 24 hours.',
    ),
    emails: UsageOfQuota.describe('The emails from templates in the last 24 hours.'),
    emailsPerAddress: UsageOfQuota.describe('The emails from templates to one address in 24 hours.'),
    emailsPending: UsageOfQuota.describe(
      'The emails from templates that are not sent yet, without those of `PAUSED` templates.',
    ),
    templates: UsageOfQuota.describe('Templates.'),
    notes: UsageOfQuota.describe('Notes.'),
    webhookRequests: UsageOfQuota.describe('The webhook requests under way at once.'),
  })
  .meta({ id: 'Usage', description: 'The use and the limit of each quota of the workspace.' })
export type Usage = z.output<typeof Usage>
