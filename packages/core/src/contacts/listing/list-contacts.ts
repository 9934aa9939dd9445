import { and, arrayContains, eq, exists, getTableColumns, isNull, type SQL, sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../../request/context.ts'
import type { CompanyId, ListId } from '../../kernel/ids.ts'
import { emailKey } from '../../kernel/values/email-key.ts'
import { type Page, readPage } from '../../request/paging.ts'
import { searchCondition, searchRank } from '../../request/search-text.ts'
import { isCreatedInRange, isInRange } from '../../request/time-range.ts'
import { activityOrder, companies, contacts, lists, subscriptions } from '../../db/schema/index.ts'
import { contactColumns, type ContactRow, toContact } from '../contact-record.ts'
import { readCompany } from '../../companies/find-company.ts'
import { compileFilter } from '../../segments/compile-filter.ts'
import { compileSegment } from '../../segments/segments.ts'
import { withinFilterTime } from '../../segments/within-filter-time.ts'
import { hasExternalId } from '../identity/external-id-aliases.ts'
import { type ContactCount, countContacts } from './count-contacts.ts'
import { readNewestContacts } from './newest-contacts.ts'
import type { Contact } from '../contacts.schema.ts'
import type { CompanyContactQuery, ContactFilters, ContactQuery } from './contact-query.schema.ts'
import { hasCustomValues } from '../../custom-fields/custom-value-filter.ts'

/**
 * Lists the contacts that match all filters. A search without `sort` returns the best matches first. With `count`, the
 * page has the number of matches.
 */
export function listContacts(ctx: Ctx, query: ContactQuery): Promise<Page<Contact> & Partial<ContactCount>> {
  const read = (ctx: Ctx) => readContactPage(ctx, query)
  if (query.filter || query.segmentId) return withinFilterTime(ctx, read)
  return query.search === undefined ? read(ctx) : inTransaction(ctx, read)
}

/** Returns a page of the contacts of a company. Throws `not_found`: no page of a deleted company has a contact. */
export async function listContactsOfCompany(
  ctx: Ctx,
  companyId: CompanyId,
  query: CompanyContactQuery,
): Promise<Page<Contact>> {
  const unknownFirst = async (error: unknown) => {
    await readCompany(ctx, companyId)
    throw error
  }
  const page = await listContacts(ctx, { ...query, companyId, customFields: {} }).catch(unknownFirst)
  if (page.data.length === 0) await readCompany(ctx, companyId)
  return page
}

async function readContactPage(ctx: Ctx, query: ContactQuery): Promise<Page<Contact> & Partial<ContactCount>> {
  const { search, sort } = query
  const where = await contactFilter(ctx, query)
  const isRanked = search !== undefined && sort === undefined
  const { data, nextCursor } = await (isRanked
    ? rankedPage(ctx, { ...query, search }, where)
    : sortedPage(ctx, query, where))
  return { data: data.map(toContact), nextCursor, ...(query.count && (await countContacts(ctx, where))) }
}

const ofContacts = { object: 'CONTACT', column: contacts.customFieldValues } as const

/** Combines all filters into one condition. With `search`, call it in the transaction that uses the condition. */
export async function contactFilter(ctx: Ctx, filters: ContactFilters): Promise<SQL | undefined> {
  return and(
    eq(contacts.workspaceId, ctx.workspaceId),
    filters.email !== undefined
      ? sql`lower(${contacts.email} collate "C") = lower(${filters.email} collate "C")`
      : undefined,
    filters.externalId !== undefined ? hasExternalId(ctx, [filters.externalId]) : undefined,
    filters.search !== undefined ? await searchCondition(ctx, contacts, filters.search) : undefined,
    filters.tag?.length ? arrayContains(contacts.tags, filters.tag) : undefined,
    filters.emailSubscribedStatus ? eq(contacts.emailSubscribedStatus, filters.emailSubscribedStatus) : undefined,
    filters.source !== undefined ? eq(contacts.source, filters.source) : undefined,
    isCreatedInRange(contacts, filters),
    isInRange(contacts.updatedAt, { after: filters.updatedAfter, before: filters.updatedBefore }),
    filters.listId ? isOnList(ctx, filters.listId) : undefined,
    filters.companyId ? isOfCompany(ctx, filters.companyId) : undefined,
    filters.segmentId ? await compileSegment(ctx, filters.segmentId) : undefined,
    filters.filter ? await compileFilter(ctx, filters.filter) : undefined,
    await hasCustomValues(ctx, ofContacts, filters.customFields),
  )
}

const maxRanked = 1_000

/** Ranks at most 1,000 matches, so that the cost is bounded when a search matches most of the workspace. */
function rankedPage(ctx: Ctx, query: ContactQuery & { search: string }, where: SQL | undefined) {
  const rank = sql<number>`rank`.as('rank')
  const ranked = ctx.db
    .select({ ...getTableColumns(contacts), rank: searchRank(contacts, query.search).as('rank') })
    .from(contacts)
    .where(where)
    .limit(maxRanked)
    .as('contacts')
  return readPage<ContactRow & { rank: number }>(ctx, {
    name: `contacts ${query.search}`,
    query: { ...query, sort: '-rank' },
    key: { column: rank, type: 'float8', valueOf: (row) => String(row.rank) },
    id: { column: contacts.id, valueOf: (row) => row.id },
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select({ ...contactColumns, rank })
        .from(ranked)
        .where(after)
        .orderBy(...orderBy)
        .limit(limit),
  })
}

function sortedPage(ctx: Ctx, query: ContactQuery, where: SQL | undefined) {
  const sort = query.sort ?? newestFirst
  return readPage<ContactRow>(ctx, {
    name: ['contacts', query.segmentId, query.companyId].filter(Boolean).join(' '),
    query: { ...query, sort },
    key: sortKeys[sort.replace('-', '') as keyof typeof sortKeys],
    id: { column: contacts.id, valueOf: (row) => row.id },
    read: ({ after, orderBy, limit, position }) => {
      if (isUnfiltered(query)) return readNewestContacts(ctx, { position, limit })
      return ctx.db
        .select(contactColumns)
        .from(contacts)
        .where(and(where, after))
        .orderBy(...orderBy)
        .limit(limit)
    },
  })
}

const newestFirst = '-createdAt'

/** Whether a query requests all contacts, newest first: the most common request. */
function isUnfiltered({ customFields, ...query }: ContactQuery): boolean {
  const { sort = newestFirst } = query
  const filters = Object.keys(query).filter((name) => !['limit', 'cursor', 'sort', 'count'].includes(name))
  return sort === newestFirst && filters.length === 0 && Object.keys(customFields).length === 0
}

const sortKeys = {
  createdAt: {
    column: contacts.createdAt,
    type: 'timestamptz',
    valueOf: (row: ContactRow) => row.createdAt,
  },
  updatedAt: {
    column: contacts.updatedAt,
    type: 'timestamptz',
    valueOf: (row: ContactRow) => row.updatedAt,
  },
  lastActivityAt: {
    column: activityOrder(contacts.lastActivityAt),
    type: 'timestamptz',
    valueOf: (row: ContactRow) => row.lastActivityAt ?? '-infinity',
  },
  email: {
    column: sql`lower(${contacts.email} collate "C")`,
    type: 'text',
    valueOf: (row: ContactRow) => emailKey(row.email),
  },
} as const

function isOnList(ctx: Ctx, listId: ListId): SQL {
  return exists(
    ctx.db
      .select({ one: sql`1` })
      .from(subscriptions)
      .innerJoin(lists, and(eq(lists.workspaceId, subscriptions.workspaceId), eq(lists.id, subscriptions.listId)))
      .where(
        and(
          eq(subscriptions.workspaceId, ctx.workspaceId),
          eq(subscriptions.listId, listId),
          eq(subscriptions.contactId, contacts.id),
          isNull(lists.deletedAt),
        ),
      ),
  )
}

/** The id of a deleted company finds no contact at once: the worker clears it. */
function isOfCompany(ctx: Ctx, companyId: CompanyId): SQL | undefined {
  const company = ctx.db
    .select({ one: sql`1` })
    .from(companies)
    .where(and(eq(companies.workspaceId, ctx.workspaceId), eq(companies.id, companyId)))
  return and(eq(contacts.companyId, companyId), exists(company))
}
