import { eq, sql } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import { countApiKeys } from '../../auth/api-keys.ts'
import { measureBodies } from '../../campaigns/campaigns.ts'
import { countCustomFields } from '../../custom-fields/custom-fields.ts'
import { measureOptions } from '../../custom-fields/option-quota.ts'
import { countMailsOfDay } from '../../campaigns/send-campaign.ts'
import { companies, contacts, notes } from '../../db/schema/index.ts'
import { countDomains } from '../../domains/domains.ts'
import { countPendingEmails } from '../../emails/email-quotas.ts'
import { countTemplates } from '../../emails/templates/templates.ts'
import { countForms } from '../../forms/forms.ts'
import { countUnfinishedImports } from '../../imports/import-record.ts'
import { type QuotaName, quotaNames } from '../../kernel/quotas.ts'
import { countLists } from '../../lists/lists.ts'
import { countReleases } from '../../mail/budget/budgets.ts'
import { countEmailsOfDay, countSingleMails } from '../../mail/mail-quotas.ts'
import { countPipelines } from '../../pipelines/pipelines.ts'
import { readQuotas } from '../../quotas/require-quota.ts'
import { countOrEstimate } from '../../request/count-or-estimate.ts'
import type { Ctx } from '../../request/context.ts'
import { countSegments } from '../../segments/segments.ts'
import { countWebhooks } from '../../webhooks/webhooks.ts'
import type { Usage, UsageOfQuota } from './workspace-usage.schema.ts'

/**
 * Returns the use and the limit of each quota. `used` is null for limits on work under way in one process, and for
 * limits that apply to each address or import.
 */
export async function readUsage(ctx: Ctx): Promise<Usage> {
  const limits = await readQuotas(ctx)
  const usage = {} as Record<QuotaName, UsageOfQuota>
  for (const name of quotaNames) {
    const { used, isEstimate } = await (measurements[name]?.(ctx) ?? { used: null, isEstimate: false })
    usage[name] = { used, isEstimate, limit: limits[name] === Infinity ? null : limits[name] }
  }
  return usage
}

type Measurement = (ctx: Ctx) => Promise<Pick<UsageOfQuota, 'used' | 'isEstimate'>>

const exact =
  (measure: (ctx: Ctx) => Promise<number>): Measurement =>
  async (ctx) => ({ used: await measure(ctx), isEstimate: false })

const estimated =
  (table: AnyPgTable & { workspaceId: AnyPgColumn }): Measurement =>
  async ({ db, workspaceId }) => {
    const { total, isEstimate } = await countOrEstimate(db, sql`${table} where ${eq(table.workspaceId, workspaceId)}`)
    return { used: total, isEstimate }
  }

const measurements: Record<QuotaName, Measurement | undefined> = {
  contacts: estimated(contacts),
  companies: estimated(companies),
  notes: estimated(notes),
  lists: exact(countLists),
  forms: exact(countForms),
  segments: exact(countSegments),
  pipelines: exact(countPipelines),
  apiKeys: exact(countApiKeys),
  webhooks: exact(countWebhooks),
  domains: exact(countDomains),
  customFields: exact(countCustomFields),
  customFieldBytes: exact(measureOptions),
  campaignBytes: exact(measureBodies),
  imports: exact(countUnfinishedImports),
  campaignMails: exact(countMailsOfDay),
  singleMails: exact(countSingleMails),
  confirmations: exact((ctx) => countReleases(ctx, 'confirmations')),
  personalDataMails: exact((ctx) => countReleases(ctx, 'personalDataMails')),
  emails: exact(countEmailsOfDay),
  emailsPending: exact(countPendingEmails),
  templates: exact(countTemplates),
  emailsPerAddress: undefined,
  exports: undefined,
  requests: undefined,
  importBytes: undefined,
  mailsPerAddress: undefined,
  webhookRequests: undefined,
}
