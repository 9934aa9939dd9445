/** What a filter refers to: it is read before the filter is compiled. */
import { and, eq, inArray, isNull, type SQL } from 'drizzle-orm'
import type { AnyPgColumn, AnyPgTable } from 'drizzle-orm/pg-core'
import { findCustomFields, readCustomFieldKeys } from '../custom-fields/custom-fields.ts'
import {
  campaigns,
  companies,
  contactAliases,
  lists,
  members,
  pipelines,
  trackingConsents,
} from '../db/schema/index.ts'
import type { CampaignId, CompanyId, ListId, PipelineId, UserId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { customKeyOf, type FilterObject, type NamedCustomFields } from './filter-fields.ts'
import type { Filter, Leaf } from './filter.schema.ts'

export interface FilterReferences {
  customFields: Readonly<Record<FilterObject, NamedCustomFields>>
  companies: ReadonlySet<CompanyId>
  members: ReadonlySet<UserId>
  lists: ReadonlySet<ListId>
  campaigns: ReadonlySet<CampaignId>
  pipelines: ReadonlySet<PipelineId>
  /** Whether contacts of the workspace were merged. If none were, PostgreSQL can plan simpler statements. */
  hasMergedContacts: boolean
  /** The same for contacts who chose about tracking. */
  hasTrackingConsents: boolean
}

/** Reads the custom fields, lists, campaigns, pipelines, companies and members that the filter names and that exist in the workspace. */
export async function readReferences(ctx: Ctx, filter: Filter): Promise<FilterReferences> {
  const leaves = leavesOf(filter)
  const ofContacts = leaves.flatMap((leaf) => ('field' in leaf ? [leaf.field] : []))
  const ofCompanies = leaves.flatMap((leaf) => ('company' in leaf ? Object.keys(leaf.company) : []))
  const hasCampaign = leaves.some((leaf) => 'campaign' in leaf)
  return {
    customFields: {
      CONTACT: await findNamedFields(ctx, 'CONTACT', ofContacts),
      COMPANY: await findNamedFields(ctx, 'COMPANY', ofCompanies),
    },
    companies: await findIds(ctx, {
      table: companies,
      id: companies.id,
      ids: leaves.flatMap((leaf) => ('company' in leaf && leaf.company.id ? [leaf.company.id] : [])),
    }),
    members: await findIds(ctx, {
      table: members,
      id: members.userId,
      ids: leaves.flatMap((leaf) => ('company' in leaf && leaf.company.ownerId ? [leaf.company.ownerId] : [])),
    }),
    lists: await findIds(ctx, {
      table: lists,
      id: lists.id,
      ids: leaves.flatMap((leaf) => ('list' in leaf ? [leaf.list] : [])),
      condition: isNull(lists.deletedAt),
    }),
    campaigns: await findIds(ctx, {
      table: campaigns,
      id: campaigns.id,
      ids: leaves.flatMap((leaf) => ('campaign' in leaf && leaf.campaign !== 'any' ? [leaf.campaign] : [])),
    }),
    hasMergedContacts: hasCampaign && (await hasRows(ctx, contactAliases)),
    hasTrackingConsents: hasCampaign && (await hasRows(ctx, trackingConsents)),
    pipelines: await findIds(ctx, {
      table: pipelines,
      id: pipelines.id,
      ids: leaves.flatMap((leaf) => ('deal' in leaf && leaf.deal.pipelineId ? [leaf.deal.pipelineId] : [])),
    }),
  }
}

async function findNamedFields(ctx: Ctx, object: FilterObject, names: readonly string[]): Promise<NamedCustomFields> {
  const keys = names.flatMap((name) => customKeyOf(name) ?? [])
  const fields = await findCustomFields(ctx, { object, keys })
  return { fields, keys: keys.every((key) => fields.has(key)) ? [] : await readCustomFieldKeys(ctx, object) }
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

interface Wanted<Id> {
  table: AnyPgTable & { workspaceId: AnyPgColumn }
  id: AnyPgColumn
  ids: Id[]
  condition?: SQL
}

/** Returns those of the ids that records of the workspace have. */
async function findIds<Id>(ctx: Ctx, { table, id, ids, condition }: Wanted<Id>): Promise<Set<Id>> {
  if (ids.length === 0) return new Set()
  const rows = await ctx.db
    .select({ id })
    .from(table)
    .where(and(eq(table.workspaceId, ctx.workspaceId), inArray(id, ids), condition))
  return new Set(rows.map(({ id }) => id as Id))
}
