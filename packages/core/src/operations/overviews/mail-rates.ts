/** How many emails of a workspace, or from a domain, bounce or are reported as spam. */
import { and, eq, sql } from 'drizzle-orm'
import type { Registry } from 'prom-client'
import type { Db } from '../../db/client.ts'
import { campaignBatches, campaigns, emails, templates, workspaces } from '../../db/schema/index.ts'
import { createGauge } from '../../runtime/metrics.ts'
import { cacheResult } from './work-metrics.ts'

const kinds = ['bounced', 'complained'] as const

interface Sender {
  mails: number
  bounced: number
  complained: number
}

interface CampaignSender extends Sender {
  workspace: string
  /** The domain of the sender. Empty for MAIL_FROM. */
  domain: string
}

/** Below this number, a single report would be a high rate. */
const minMails = 500

/**
 * Registers gauges of the highest rates of what was sent in the last seven days: campaigns by workspace and by domain, and
 * emails to one person by template. They name none of these, which would multiply the series.
 */
export function registerMailRateMetrics(registry: Registry, db: Db): void {
  const read = cacheResult(async () => {
    const senders = await listSenders(db)
    return {
      workspace: [...Map.groupBy(senders, ({ workspace }) => workspace).values()],
      domain: [...Map.groupBy(senders, ({ domain }) => domain).values()],
      template: (await listTemplateSenders(db)).map((sender) => [sender]),
    }
  })
  createGauge(registry, {
    name: 'worst_mail_rate',
    help: 'Highest rate of hard bounces and of complaints in 7 days: of campaigns by workspace or domain, of emails by template',
    labelNames: ['by', 'kind'],
    read: async () =>
      Object.entries(await read()).flatMap(([by, groups]) =>
        kinds.map((kind) => ({ labels: { by, kind }, value: findWorstRate(groups, kind) })),
      ),
  })
}

function findWorstRate(groups: readonly (readonly Sender[])[], kind: (typeof kinds)[number]): number {
  const rates = groups.map((group) => {
    const sum = (count: (sender: Sender) => number) => group.reduce((total, sender) => total + count(sender), 0)
    const mails = sum((sender) => sender.mails)
    return mails < minMails ? 0 : sum((sender) => sender[kind]) / mails
  })
  return Math.max(0, ...rates)
}

const domain = sql<string>`lower(split_part(coalesce(${campaigns.fromEmail}, ${workspaces.fromEmail}, ''), '@', 2) collate "C")`

/** The counters of the batches are few compared with the recipients. */
async function listSenders(db: Db): Promise<CampaignSender[]> {
  const { sent, failed, bounced, complained } = campaignBatches
  return await db
    .select({
      workspace: campaigns.workspaceId,
      domain,
      mails: sql<number>`sum(${sent} + ${failed})::int`,
      bounced: sql<number>`sum(${bounced})::int`,
      complained: sql<number>`sum(${complained})::int`,
    })
    .from(campaigns)
    .innerJoin(workspaces, eq(workspaces.id, campaigns.workspaceId))
    .innerJoin(
      campaignBatches,
      and(eq(campaignBatches.workspaceId, campaigns.workspaceId), eq(campaignBatches.campaignId, campaigns.id)),
    )
    .where(sql`${campaigns.sentAt} > now() - interval '7 days'`)
    .groupBy(campaigns.workspaceId, domain)
}

/** By template: those of which at least one email was accepted in the last seven days. */
async function listTemplateSenders(db: Db): Promise<Sender[]> {
  return await db
    .select({
      mails: sql<number>`count(*) filter (where ${emails.status} in ('SENT', 'FAILED', 'INTERRUPTED'))::int`,
      bounced: sql<number>`count(*) filter (where ${emails.bounceClass} = 'HARD')::int`,
      complained: sql<number>`count(${emails.complainedAt})::int`,
    })
    .from(templates)
    .innerJoin(emails, and(eq(emails.workspaceId, templates.workspaceId), eq(emails.templateId, templates.id)))
    .where(sql`${emails.createdAt} > now() - interval '7 days'`)
    .groupBy(templates.workspaceId, templates.id)
}
