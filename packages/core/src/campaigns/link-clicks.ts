/** How often each link of a campaign was clicked. */
import { and, eq, sql } from 'drizzle-orm'
import { LRUCache } from 'lru-cache'
import { campaignLinkClicks, campaigns } from '../db/schema/index.ts'
import { type CampaignId, uuidOf } from '../kernel/ids.ts'
import { listLinks } from '../rendering/track-html.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { isInLiveWorkspace } from '../request/workspace-state.ts'
import type { CampaignStats } from './campaign-stats.schema.ts'

const maxLinks = 100
/** Parsing a URL takes a microsecond, and HTML may have 60,000. */
const maxParsedLinks = 1_000
const slots = 8

/**
 * Lists the first links of a template that are the same in every email, in their order. A link with a variable may name
 * a person, so it is not counted by itself.
 */
export function listCountedLinks(html: string | null): string[] {
  const links = listLinks(html ?? '', maxParsedLinks).filter((url) => !/\{\{|\{%/.test(url))
  return [...new Set(links)].slice(0, maxLinks)
}

/** The positions of the links, in their order. The template of a campaign that was sent does not change. */
const positions = new LRUCache<CampaignId, ReadonlyMap<string, number>, Ctx>({
  max: 500,
  ttl: 60_000,
  ignoreFetchAbort: true,
  fetchMethod: async (id, _stale, { context }) =>
    new Map((await readLinks(context, id)).map((url, position) => [url, position])),
})

async function readLinks(ctx: Ctx, id: CampaignId): Promise<string[]> {
  const [campaign] = await ctx.db
    .select({ html: campaigns.html })
    .from(campaigns)
    .where(byId(campaigns, ctx, id))
  return listCountedLinks(campaign?.html ?? null)
}

/** Counts a click on a link, each time. No-op if the link has a variable, or is not among the first. */
export async function countLinkClick(
  ctx: Ctx,
  { campaignId, url, isAnonymous }: { campaignId: CampaignId; url: string; isAnonymous: boolean },
): Promise<void> {
  const position = (await positions.fetch(campaignId, { context: ctx }))?.get(url)
  if (position === undefined) return
  const [clicks, anonymousClicks] = isAnonymous ? [0, 1] : [1, 0]
  await ctx.db.execute(sql`
    insert into campaign_link_clicks as link (workspace_id, campaign_id, position, slot, clicks, anonymous_clicks)
    select c.workspace_id, c.id, ${position}::int, ${Math.floor(Math.random() * slots)}::int,
      ${clicks}::int, ${anonymousClicks}::int
    from campaigns c
    where c.workspace_id = ${uuidOf(ctx.workspaceId)} and c.id = ${uuidOf(campaignId)}
      and ${isInLiveWorkspace(sql`c.workspace_id`)}
    on conflict (workspace_id, campaign_id, position, slot) do update
      set clicks = link.clicks + excluded.clicks, anonymous_clicks = link.anonymous_clicks + excluded.anonymous_clicks`)
}

/** Reads the clicks of the first links of a campaign, in the order of the template. */
export async function readLinkClicks(
  ctx: Ctx,
  id: CampaignId,
  { isDraft }: { isDraft: boolean },
): Promise<CampaignStats['links']> {
  const { position, clicks, anonymousClicks } = campaignLinkClicks
  const rows = await ctx.db
    .select({
      position,
      clicks: sql<number>`sum(${clicks})::int`,
      anonymousClicks: sql<number>`sum(${anonymousClicks})::int`,
    })
    .from(campaignLinkClicks)
    .where(and(eq(campaignLinkClicks.workspaceId, ctx.workspaceId), eq(campaignLinkClicks.campaignId, id)))
    .groupBy(position)
  const byPosition = new Map(rows.map((row) => [row.position, row]))
  const links = isDraft
    ? await readLinks(ctx, id)
    : [...((await positions.fetch(id, { context: ctx })) ?? new Map()).keys()]
  return links.map((url: string, at) => ({
    url,
    clicks: byPosition.get(at)?.clicks ?? 0,
    anonymousClicks: byPosition.get(at)?.anonymousClicks ?? 0,
  }))
}
