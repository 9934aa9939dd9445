/**
 * Quotas keep one workspace from starving or misusing the others. Each has a default for the installation, in
 * `QUOTA_<NAME>`, and the operator can set another value for one workspace.
 */
export const quotaDefaults = {
  contacts: 5_000_000,
  companies: 1_000_000,
  lists: 1_000,
  forms: 1_000,
  segments: 1_000,
  pipelines: 200,
  apiKeys: 200,
  webhooks: 50,
  domains: 20,
  customFields: 200,
  /** The size of the options of all custom fields. */
  customFieldBytes: 65_536,
  /** The size of `html` and `text` of all campaigns. */
  campaignBytes: 268_435_456,
  /** The requests under way in one API process. */
  requests: 40,
  /** The exports under way. */
  exports: 1,
  /** The imports that are received, queued or running. */
  imports: 5,
  /** The uncompressed size of one import. */
  importBytes: 4_294_967_296,
  /** Recipients of campaigns in 24 hours. */
  campaignMails: 0,
  /** Test emails and invites in 24 hours. */
  singleMails: 500,
  /** Emails of one kind to one address in 24 hours. */
  mailsPerAddress: 5,
  /** Confirmation emails that visitors caused, in 24 hours. The links that are used widen it: see `mail/budget`. */
  confirmations: 100,
  /** Emails of personal data that contacts asked for on their preferences page, in 24 hours. */
  personalDataMails: 100,
  /** Emails from templates in 24 hours. */
  emails: 10_000,
  /** Emails from templates to one address in 24 hours. */
  emailsPerAddress: 20,
  /** Emails from templates that are not sent yet. */
  emailsPending: 50_000,
  templates: 200,
  notes: 5_000_000,
  /** The webhook requests in flight. */
  webhookRequests: 20,
} as const

export type QuotaName = keyof typeof quotaDefaults

export const quotaNames = Object.keys(quotaDefaults) as QuotaName[]

/** The limit of each quota; `Infinity`: none. */
export type Quotas = Readonly<Record<QuotaName, number>>

/** Replaces the limits of `quotas` by those in `values`. In `values`, 0 means no limit. */
export function withQuotas(quotas: Quotas, values: Partial<Record<QuotaName, number>>): Quotas {
  const limits = Object.entries(values).map(([name, value]) => [name, value === 0 ? Infinity : value] as const)
  return { ...quotas, ...Object.fromEntries<number>(limits) }
}

export const defaultQuotas: Quotas = withQuotas({ ...quotaDefaults }, quotaDefaults)
