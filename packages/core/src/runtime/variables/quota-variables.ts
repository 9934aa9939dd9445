/** The environment variables of the quotas: one for each name in `kernel/quotas.ts`. */
import { z } from 'zod'
import {
  defaultQuotas,
  quotaDefaults,
  type QuotaName,
  quotaNames,
  type Quotas,
  withQuotas,
} from '../../kernel/quotas.ts'

const message = 'must be a whole number; 0 for no limit'

const quota = (name: QuotaName) => z.coerce.number(message).int(message).min(0, message).default(quotaDefaults[name])

export const quotaVariables = {
  QUOTA_CONTACTS: quota('contacts'),
  QUOTA_COMPANIES: quota('companies'),
  QUOTA_LISTS: quota('lists'),
  QUOTA_FORMS: quota('forms'),
  QUOTA_SEGMENTS: quota('segments'),
  QUOTA_PIPELINES: quota('pipelines'),
  QUOTA_API_KEYS: quota('apiKeys'),
  QUOTA_WEBHOOKS: quota('webhooks'),
  QUOTA_DOMAINS: quota('domains'),
  QUOTA_CUSTOM_FIELDS: quota('customFields'),
  QUOTA_CUSTOM_FIELD_BYTES: quota('customFieldBytes'),
  QUOTA_CAMPAIGN_BYTES: quota('campaignBytes'),
  QUOTA_REQUESTS: quota('requests'),
  QUOTA_EXPORTS: quota('exports'),
  QUOTA_IMPORTS: quota('imports'),
  QUOTA_IMPORT_BYTES: quota('importBytes'),
  QUOTA_CAMPAIGN_MAILS: quota('campaignMails'),
  QUOTA_SINGLE_MAILS: quota('singleMails'),
  QUOTA_MAILS_PER_ADDRESS: quota('mailsPerAddress'),
  QUOTA_CONFIRMATIONS: quota('confirmations'),
  QUOTA_PERSONAL_DATA_MAILS: quota('personalDataMails'),
  QUOTA_EMAILS: quota('emails'),
  QUOTA_EMAILS_PER_ADDRESS: quota('emailsPerAddress'),
  QUOTA_EMAILS_PENDING: quota('emailsPending'),
  QUOTA_TEMPLATES: quota('templates'),
  QUOTA_NOTES: quota('notes'),
  QUOTA_WEBHOOK_REQUESTS: quota('webhookRequests'),
}
export type QuotaVariable = keyof typeof quotaVariables

/** The environment variable of a quota: `QUOTA_API_KEYS` for `apiKeys`. */
const quotaVariableOf = (name: QuotaName) =>
  `QUOTA_${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}` as QuotaVariable

export function quotasFrom(config: Readonly<Record<QuotaVariable, number>>): Quotas {
  return withQuotas(defaultQuotas, Object.fromEntries(quotaNames.map((name) => [name, config[quotaVariableOf(name)]])))
}
