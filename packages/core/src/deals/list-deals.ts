import { and, eq, gte, inArray, isNotNull, isNull, lte, type SQL, sql } from 'drizzle-orm'
import { hasCustomValues } from '../custom-fields/custom-value-filter.ts'
import type { Ctx } from '../request/context.ts'
import { containsText } from '../request/contains-text.ts'
import type { ContactId } from '../kernel/ids.ts'
import { type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange, isDateInRange, isInRange } from '../request/time-range.ts'
import { closingOrder, deals } from '../db/schema/index.ts'
import { type DealRow, toDeal } from './deal-record.ts'
import type { Deal, DealQuery } from './deals.schema.ts'

/** Returns a page of the workspace's deals that match every filter. */
export async function listDeals(ctx: Ctx, query: DealQuery): Promise<Page<Deal>> {
  const where = and(dealFilter(ctx, query), await dealsWithValues(ctx, query))
  const page = await readPage<DealRow>(ctx, {
    name: 'deals',
    query,
    key: sortKeys[query.sort.replace('-', '') as keyof typeof sortKeys],
    id: { column: deals.id, valueOf: (row) => row.id },
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(deals)
        .where(and(where, after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toDeal) }
}

/** Returns a page of the deals of a contact. */
export function listDealsOfContact(
  ctx: Ctx,
  contactId: ContactId,
  query: Omit<DealQuery, 'contactId' | 'customFields'>,
): Promise<Page<Deal>> {
  return listDeals(ctx, { ...query, contactId, customFields: {} })
}

function dealFilter(ctx: Ctx, query: DealQuery): SQL | undefined {
  return and(
    eq(deals.workspaceId, ctx.workspaceId),
    query.pipelineId ? eq(deals.pipelineId, query.pipelineId) : undefined,
    query.stageId ? eq(deals.stageId, query.stageId) : undefined,
    query.contactId ? eq(deals.contactId, query.contactId) : undefined,
    query.companyId ? eq(deals.companyId, query.companyId) : undefined,
    query.contactErased === undefined ? undefined : (query.contactErased ? isNotNull : isNull)(deals.contactErasedAt),
    query.ownerId ? eq(deals.ownerId, query.ownerId) : undefined,
    query.lostReason === undefined ? undefined : eq(deals.lostReason, query.lostReason),
    query.status ? inArray(deals.status, query.status) : undefined,
    query.search === undefined ? undefined : containsText(deals.name, query.search),
    query.valueCentsMin === undefined ? undefined : gte(deals.valueCents, query.valueCentsMin),
    query.valueCentsMax === undefined ? undefined : lte(deals.valueCents, query.valueCentsMax),
    isCreatedInRange(deals, query),
    isInRange(deals.updatedAt, { after: query.updatedAfter, before: query.updatedBefore }),
    isInRange(closingOrder(deals.closedAt), { after: query.closedAfter, before: query.closedBefore }),
    isDateInRange(deals.expectedCloseOn, { after: query.expectedCloseAfter, before: query.expectedCloseBefore }),
    // The indexed expression returns `-infinity` for an open deal.
    query.closedBefore ? isNotNull(deals.closedAt) : undefined,
  )
}

const ofDeals = { object: 'DEAL', column: deals.customFieldValues } as const

/** The second condition is that of the partial index. */
async function dealsWithValues(ctx: Ctx, { customFields }: DealQuery): Promise<SQL | undefined> {
  const hasValues = await hasCustomValues(ctx, ofDeals, customFields)
  return hasValues && and(hasValues, sql`${deals.customFieldValues} <> '{}'`)
}

const sortKeys = {
  createdAt: { column: deals.createdAt, type: 'timestamptz', valueOf: (row: DealRow) => row.createdAt },
  updatedAt: { column: deals.updatedAt, type: 'timestamptz', valueOf: (row: DealRow) => row.updatedAt },
  valueCents: { column: deals.valueCents, type: 'int8', valueOf: (row: DealRow) => String(row.valueCents) },
  closedAt: {
    column: closingOrder(deals.closedAt),
    type: 'timestamptz',
    valueOf: (row: DealRow) => row.closedAt ?? '-infinity',
  },
} as const
