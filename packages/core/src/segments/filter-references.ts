/** What a filter refers to: it is read before the filter is compiled. */
import { and, eq, inArray, isNull } from 'drizzle-orm'
import { type CustomFields, findCustomFields, readCustomFieldKeys } from '../custom-fields/custom-fields.ts'
import { campaigns, contactAliases, lists, pipelines, trackingConsents } from '../db/schema/index.ts'
import type { CampaignId, ListId, PipelineId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { customPrefix } from './contact-fields.ts'
import type { Filter, Leaf } from './filter.schema.ts'

export interface FilterReferences {
  customFields: CustomFields
  /** All keys of the workspace, for suggestions, if the filter names an unknown one. */
  customKeys: readonly string[]
  lists: ReadonlySet<ListId>
  campaigns: ReadonlySet<CampaignId>
  pipelines: ReadonlySet<PipelineId>
  /** Whether contacts of the workspace were merged. If none were, PostgreSQL can plan simpler statements. */
  hasMergedContacts: boolean
  /** The same for contacts who chose about tracking. */
  hasTrackingConsents: boolean
}

/** Reads the custom fields, lists, campaigns and pipelines that the filter names and that exist in the workspace. */
export async function readReferences(ctx: Ctx, filter: Filter): Promise<FilterReferences> {
  const leaves = leavesOf(filter)
  const keys = leaves.flatMap((leaf) =>
    'field' in leaf && leaf.field.startsWith(customPrefix) ? [leaf.field.slice(customPrefix.length)] : [],
  )
  const customFields = await findCustomFields(ctx, keys)
  const hasCampaign = leaves.some((leaf) => 'campaign' in leaf)
  return {
    customFields,
    customKeys: keys.some((key) => !customFields.has(key)) ? await readCustomFieldKeys(ctx) : [],
    lists: await findLists(
      ctx,
      leaves.flatMap((leaf) => ('list' in leaf ? [leaf.list] : [])),
    ),
    campaigns: await findCampaigns(
      ctx,
      leaves.flatMap((leaf) => ('campaign' in leaf && leaf.campaign !== 'any' ? [leaf.campaign] : [])),
    ),
    hasMergedContacts: hasCampaign && (await hasRows(ctx, contactAliases)),
    hasTrackingConsents: hasCampaign && (await hasRows(ctx, trackingConsents)),
    pipelines: await findPipelines(
      ctx,
      leaves.flatMap((leaf) => ('deal' in leaf && leaf.deal.pipelineId ? [leaf.deal.pipelineId] : [])),
    ),
  }
}

function leavesOf(filter: Filter): Leaf[] {
  if ('all' in filter) return filter.all.flatMap(leavesOf)
  if ('any' in filter) return filter.any.flatMap(leavesOf)
  return 'not' in filter ? leavesOf(filter.not) : [filter]
}

async function hasRows(ctx: Ctx, table: typeof contactAliases | typeof trackingConsents): Promise<boolean> {
  const rows = await ctx.db
    .select({ contactId: table.contactId })
    .from(table)
    .where(eq(table.workspaceId, ctx.workspaceId))
    .limit(1)
  return rows.length > 0
}

async function findLists(ctx: Ctx, ids: ListId[]): Promise<Set<ListId>> {
  if (ids.length === 0) return new Set()
  const rows = await ctx.db
    .select({ id: lists.id })
    .from(lists)
    .where(and(eq(lists.workspaceId, ctx.workspaceId), inArray(lists.id, ids), isNull(lists.deletedAt)))
  return new Set(rows.map(({ id }) => id))
}

async function findCampaigns(ctx: Ctx, ids: CampaignId[]): Promise<Set<CampaignId>> {
  if (ids.length === 0) return new Set()
  const rows = await ctx.db
    .select({ id: campaigns.id })
    .from(campaigns)
    .where(and(eq(campaigns.workspaceId, ctx.workspaceId), inArray(campaigns.id, ids)))
  return new Set(rows.map(({ id }) => id))
}

async function findPipelines(ctx: Ctx, ids: PipelineId[]): Promise<Set<PipelineId>> {
  if (ids.length === 0) return new Set()
  const rows = await ctx.db
    .select({ id: pipelines.id })
    .from(pipelines)
    .where(and(eq(pipelines.workspaceId, ctx.workspaceId), inArray(pipelines.id, ids)))
  return new Set(rows.map(({ id }) => id))
}
