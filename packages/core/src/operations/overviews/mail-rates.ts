/** How many emails of a workspace, or from a domain, bounce or are reported as spam. */
import { and, eq, sql } from 'drizzle-orm'
import type { Registry } from 'prom-client'
import type { Db } from '../../db/client.ts'
import { campaignBatches, campaigns, workspaces } from '../../db/schema/index.ts'
import { createGauge } from '../../runtime/metrics.ts'
import { cacheResult } from './work-metrics.ts'

const groupings = ['workspace', 'domain'] as const
const kinds = ['bounced', 'complained'] as const

interface Sender {
  workspace: string
  /** The domain of the sender. Empty for MAIL_FROM. */
  domain: string
  mails: number
  bounced: number
  complained: number
}

/** Below this number, a single report would be a high rate. */
const minMails = 500

/**
 * Registers gauges of the highest rates of the campaigns that were sent in the last seven days. They name neither the
 * workspace nor the domain, which would multiply the series.
 */
export function registerMailRateMetrics(registry: Registry, db: Db): void {
  const read = cacheResult(() => listSenders(db))
  createGauge(registry, {
    name: 'worst_mail_rate',
    help: 'Highest rate of hard bounces and of complaints of a workspace or a domain, in the campaigns of the last 7 days',
    labelNames: ['by', 'kind'],
    read: async () => {
      const senders = await read()
      return groupings.flatMap((by) =>
        kinds.map((kind) => ({ labels: { by, kind }, value: findWorstRate(senders, by, kind) })),
      )
    },
  })
}

function findWorstRate(senders: readonly Sender[], by: (typeof groupings)[number], kind: (typeof kinds)[number]) {
  const groups = Map.groupBy(senders, (sender) => sender[by])
  const rates = [...groups.values()].map((group) => {
    const sum = (count: (sender: Sender) => number) => group.reduce((total, sender) => total + count(sender), 0)
    const mails = sum((sender) => sender.mails)
    return mails < minMails ? 0 : sum((sender) => sender[kind]) / mails
  })
  return Math.max(0, ...rates)
}

const domain = sql<string>`lower(split_part(coalesce(${campaigns.fromEmail}, ${workspaces.fromEmail}, ''), '@', 2) collate "C")`

/** The counters of the batches are few compared with the recipients. */
async function listSenders(db: Db): Promise<Sender[]> {
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
