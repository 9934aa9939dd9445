/** How many emails of a workspace, or from a domain, bounce or are reported as spam. */
import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Registry } from 'prom-client'
import { hasMailedSince, isOwnBatch, sumsOfBatches } from '../../campaigns/campaign-stats.ts'
import type { Db } from '../../db/client.ts'
import { campaignBatches, campaigns, emails, templates, workspaces } from '../../db/schema/index.ts'
import type { WorkspaceId } from '../../kernel/ids.ts'
import { createGauge } from '../../runtime/metrics.ts'
import { cacheResult } from './work-metrics.ts'
import { findRate, type Sent } from './workspace-figures.ts'

const kinds = ['bounced', 'complained'] as const

interface CampaignSender extends Sent {
  workspace: WorkspaceId
  name: string
  /** The domain of the sender. Empty for MAIL_FROM. */
  domain: string
}

/**
 * Registers gauges of the highest rates of what was sent in the last seven days: campaigns by workspace and by domain, and
 * emails to one person by template. Only the worst twenty workspaces are named: each name is a series of its own.
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
        kinds.map((kind) => ({
          labels: { by, kind },
          value: Math.max(0, ...groups.map((one) => findRateOf(one, kind))),
        })),
      ),
  })
  createGauge(registry, {
    name: 'workspace_mail_rate',
    help: 'Rates of hard bounces and of complaints in the campaigns of 7 days, of the worst twenty workspaces of each kind',
    labelNames: ['workspace', 'name', 'kind'],
    read: async () => {
      const { workspace: groups } = await read()
      return kinds.flatMap((kind) => listWorst(groups, kind))
    },
  })
}

const namedWorkspaces = 20

function listWorst(groups: readonly CampaignSender[][], kind: (typeof kinds)[number]) {
  const samples = groups.flatMap((senders) => {
    const { workspace = '', name = '' } = senders[0] ?? {}
    return { labels: { workspace, name, kind }, value: findRateOf(senders, kind) }
  })
  const rated = samples.filter(({ value }) => value > 0)
  return rated.toSorted((one, other) => other.value - one.value).slice(0, namedWorkspaces)
}

function findRateOf(senders: readonly Sent[], kind: (typeof kinds)[number]): number {
  const sum = (field: keyof Sent) => senders.reduce((total, sender) => total + sender[field], 0)
  return findRate({ mails: sum('mails'), bounced: sum('bounced'), complained: sum('complained') }, kind) ?? 0
}

const domain = sql<string>`lower(split_part(coalesce(${campaigns.fromEmail}, ${workspaces.fromEmail}, ''), '@', 2) collate "C")`

const weekAgo = sql`now() - interval '7 days'`
/** A campaign of a suspended workspace stays SENDING. */
const isActive = sql`coalesce(${workspaces.suspendedAt}, now()) > ${weekAgo}`

/** The counters of the batches are few compared with the recipients. */
async function listSenders(db: Db): Promise<CampaignSender[]> {
  return await db
    .select({
      workspace: campaigns.workspaceId,
      name: workspaces.name,
      domain,
      ...sumsOfBatches,
    })
    .from(campaigns)
    .innerJoin(workspaces, eq(workspaces.id, campaigns.workspaceId))
    .innerJoin(campaignBatches, isOwnBatch)
    .where(and(hasMailedSince(weekAgo), isActive, isNull(workspaces.deletedAt)))
    .groupBy(campaigns.workspaceId, workspaces.name, domain)
}

/** By template: those of which at least one email was accepted in the last seven days. */
async function listTemplateSenders(db: Db): Promise<Sent[]> {
  return await db
    .select({
      mails: sql<number>`count(*) filter (where ${emails.status} in ('SENT', 'FAILED', 'INTERRUPTED'))::int`,
      bounced: sql<number>`count(*) filter (where ${emails.bounceClass} = 'HARD')::int`,
      complained: sql<number>`count(${emails.complainedAt})::int`,
    })
    .from(templates)
    .innerJoin(emails, and(eq(emails.workspaceId, templates.workspaceId), eq(emails.templateId, templates.id)))
    .where(sql`${emails.createdAt} > ${weekAgo}`)
    .groupBy(templates.workspaceId, templates.id)
}
