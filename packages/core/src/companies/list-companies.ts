import { and, arrayContains, eq, type SQL } from 'drizzle-orm'
import { hasCustomValues } from '../custom-fields/custom-value-filter.ts'
import { companies, events } from '../db/schema/index.ts'
import { type Activity, type ActivityQuery, type EventRow, toActivity } from '../events/activity.ts'
import type { CompanyId } from '../kernel/ids.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { searchCondition } from '../request/search-text.ts'
import { isCreatedInRange, isInRange } from '../request/time-range.ts'
import type { Company, CompanyQuery } from './companies.schema.ts'
import { companyColumns, type CompanyRow, toCompany } from './company-record.ts'
import { readCompany } from './find-company.ts'

/** Returns a page of the workspace's companies that match every filter. */
export function listCompanies(ctx: Ctx, query: CompanyQuery): Promise<Page<Company>> {
  const read = (ctx: Ctx) => readCompanyPage(ctx, query)
  return query.search === undefined ? read(ctx) : inTransaction(ctx, read)
}

async function readCompanyPage(ctx: Ctx, query: CompanyQuery): Promise<Page<Company>> {
  const where = await companyFilter(ctx, query)
  const page = await readPage<CompanyRow>(ctx, {
    name: 'companies',
    query,
    key: sortKeys[query.sort.replace('-', '') as keyof typeof sortKeys],
    id: { column: companies.id, valueOf: (row) => row.id },
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select(companyColumns)
        .from(companies)
        .where(and(where, after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toCompany) }
}

const sortKeys = {
  createdAt: { column: companies.createdAt, type: 'timestamptz', valueOf: (row: CompanyRow) => row.createdAt },
  updatedAt: { column: companies.updatedAt, type: 'timestamptz', valueOf: (row: CompanyRow) => row.updatedAt },
} as const

const ofCompanies = { object: 'COMPANY', column: companies.customFieldValues } as const

async function companyFilter(ctx: Ctx, query: CompanyQuery): Promise<SQL | undefined> {
  return and(
    eq(companies.workspaceId, ctx.workspaceId),
    query.domain === undefined ? undefined : eq(companies.domain, query.domain),
    query.externalId === undefined ? undefined : eq(companies.externalId, query.externalId),
    query.ownerId === undefined ? undefined : eq(companies.ownerId, query.ownerId),
    query.tag?.length ? arrayContains(companies.tags, query.tag) : undefined,
    query.search === undefined ? undefined : await searchCondition(ctx, companies, query.search),
    isCreatedInRange(companies, query),
    isInRange(companies.updatedAt, { after: query.updatedAfter, before: query.updatedBefore }),
    await hasCustomValues(ctx, ofCompanies, query.customFields),
  )
}

/** Lists the events of a company, of its deals and of its notes, newest first. */
export async function listCompanyActivity(ctx: Ctx, id: CompanyId, query: ActivityQuery): Promise<Page<Activity>> {
  await readCompany(ctx, id)
  const ofCompany = and(eq(events.workspaceId, ctx.workspaceId), eq(events.companyId, id))
  const page = await readPage<EventRow>(ctx, {
    name: `activity ${id}`,
    query,
    ...byCreation<EventRow>(events),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(events)
        .where(and(ofCompany, isCreatedInRange(events, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toActivity) }
}
