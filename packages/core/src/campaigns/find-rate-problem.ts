/**
 * The rates of bounces and complaints at which a campaign pauses, because receivers would refuse the mails of the sender
 * for weeks. A worker asks before each batch. A user who resumes a campaign that its rates paused accepts them.
 */
import { and, eq, sql } from 'drizzle-orm'
import { campaignBatches, campaignRecipients, campaigns } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { int } from '../db/statements/sql-types.ts'
import type { CampaignId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { sumsOfBatches } from './campaign-stats.ts'

interface Counts {
  /** The mails that a server accepted or refused. */
  mails: number
  complained: number
  hardBounces: number
  /** Of the last 200 mails, up to the last one with a bounce: those that were refused as the fault of the sender. */
  refusedOfLast: number
  refusingDomains: number
}

export const maxComplaintRate = 0.001
/** Below these numbers, a few reports would be a high rate. */
export const minComplaints = 10
export const maxHardRate = 0.05
export const minMailsForHardRate = 500
const minRefused = 100
const minRefusingDomains = 3

/** Returns why the campaign should pause; undefined if its rates are low, or accepted. */
export async function findRateProblem(ctx: Ctx, id: CampaignId): Promise<string | undefined> {
  const [campaign] = await ctx.db
    .select({ ratesAcceptedAt: campaigns.ratesAcceptedAt })
    .from(campaigns)
    .where(byId(campaigns, ctx, id))
  if (!campaign || campaign.ratesAcceptedAt) return undefined
  return describeRateProblem(await readCounts(ctx, id))
}

export function describeRateProblem(counts: Counts): string | undefined {
  const { mails, complained, hardBounces, refusedOfLast, refusingDomains } = counts
  if (complained >= minComplaints && complained > mails * maxComplaintRate)
    return `More than 0.1% of the recipients reported the email as spam (${complained} of ${mails})`
  if (mails >= minMailsForHardRate && hardBounces >= mails * maxHardRate)
    return `At least 5% of the addresses do not exist (${hardBounces} of ${mails})`
  if (refusedOfLast >= minRefused && refusingDomains >= minRefusingDomains)
    return `Servers of ${refusingDomains} domains refused ${refusedOfLast} of the last 200 emails because of the sender or the email`
  return undefined
}

/** Whether a campaign was paused for the problem. Its counts may have changed since. */
export const isSameProblem = (problem: string | undefined, pauseReason: string | null): boolean =>
  problem !== undefined && pauseReason !== null && withoutCounts(problem) === withoutCounts(pauseReason)
const withoutCounts = (text: string) => text.replaceAll(/\d+/g, '')

async function readCounts(ctx: Ctx, id: CampaignId): Promise<Counts> {
  const ofCampaign = { workspaceId: ctx.workspaceId, campaignId: id }
  const [totals] = await ctx.db
    .select({ mails: sumsOfBatches.mails, complained: sumsOfBatches.complained })
    .from(campaignBatches)
    .where(and(eq(campaignBatches.workspaceId, ctx.workspaceId), eq(campaignBatches.campaignId, id)))
  const hardBounces = await ctx.db.$count(
    campaignRecipients,
    and(
      eq(campaignRecipients.workspaceId, ctx.workspaceId),
      eq(campaignRecipients.campaignId, id),
      eq(campaignRecipients.bounceClass, 'HARD'),
    ),
  )
  const [last] = await countRefusedOfLast(ctx.db, ofCampaign)
  const { refused = 0, domains = 0 } = last ?? {}
  const { mails = 0, complained = 0 } = totals ?? {}
  return { mails, complained, hardBounces, refusedOfLast: refused, refusingDomains: domains }
}

/** Bounces are reported later than mails are sent, so the last mails are those up to the last one with a bounce. */
const countRefusedOfLast = namedStatement('count refused mails of the last', {
  params: { workspaceId: campaignRecipients.workspaceId, campaignId: campaignRecipients.campaignId },
  columns: { refused: int, domains: int },
  sql: ({ workspaceId, campaignId }) => sql`
    with last as (
      select r.contact_id, r.bounce_class in ('MESSAGE', 'POLICY') as is_refused from campaign_recipients r
      where r.workspace_id = ${workspaceId} and r.campaign_id = ${campaignId}
        and r.status in ('SENT', 'FAILED', 'INTERRUPTED')
        and r.created_at <= (
          select max(bounced.created_at) from campaign_recipients bounced
          where bounced.workspace_id = ${workspaceId} and bounced.campaign_id = ${campaignId}
            and bounced.bounce_class in ('MESSAGE', 'POLICY'))
      order by r.created_at desc, r.contact_id desc
      limit 200)
    select count(*)::int as refused, count(distinct lower(split_part(c.email, '@', 2) collate "C"))::int as domains
    from last left join contacts c on c.workspace_id = ${workspaceId} and c.id = last.contact_id
    where last.is_refused`,
})
