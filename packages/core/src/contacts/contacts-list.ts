import { and, arrayContains, eq, exists, gt, lt, type SQL, sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../context.ts'
import { invalidField } from '../errors.ts'
import { type Page, readPage } from '../paging.ts'
import { activityOrder, contacts, searchText, subscriptions } from '../schema.ts'
import { contactColumns, type ContactRow, toContact } from './contact-record.ts'
import type { Contact, ContactFilters, ContactQuery } from './contacts.schema.ts'
import { checkCustomValue, fromText, readCustomFields } from './custom-fields.ts'

/** A page of the workspace's contacts; every filter that is given must hold. A search without `sort` has the best first. */
export async function listContacts(ctx: Ctx, query: ContactQuery): Promise<Page<Contact>> {
  const { search, sort } = query
  const where = await contactFilter(ctx, query)
  const page =
    search !== undefined && sort === undefined
      ? await inTransaction(ctx, (ctx) => rankedPage(ctx, { ...query, search }, where))
      : await inTransactionForSearch(ctx, search, (ctx) =>
          sortedPage(ctx, { ...query, sort: sort ?? '-createdAt' }, where),
        )
  return { ...page, data: page.data.map(toContact) }
}

/** The condition that all the filters make together, in the contact's own workspace. */
export async function contactFilter(ctx: Ctx, filters: ContactFilters): Promise<SQL | undefined> {
  return and(
    eq(contacts.workspaceId, ctx.workspaceId),
    filters.email !== undefined ? sql`lower(${contacts.email}) = lower(${filters.email})` : undefined,
    filters.search !== undefined ? matchesSearch(filters.search) : undefined,
    filters.tag ? arrayContains(contacts.tags, filters.tag) : undefined,
    filters.emailSubscribedStatus ? eq(contacts.emailSubscribedStatus, filters.emailSubscribedStatus) : undefined,
    filters.source !== undefined ? eq(contacts.source, filters.source) : undefined,
    filters.createdAfter ? gt(contacts.createdAt, filters.createdAfter) : undefined,
    filters.createdBefore ? lt(contacts.createdAt, filters.createdBefore) : undefined,
    filters.updatedAfter ? gt(contacts.updatedAt, filters.updatedAfter) : undefined,
    filters.updatedBefore ? lt(contacts.updatedAt, filters.updatedBefore) : undefined,
    filters.listId ? isOnList(ctx, filters.listId) : undefined,
    await hasCustomValues(ctx, filters.customFields),
  )
}

/** How alike a word must be to the one searched for. Lower than pg_trgm's own 0.6, so that short names may have a typo. */
const similarity = 0.4

/** pg_trgm reads its threshold from a setting: it holds for this transaction. */
export async function setSimilarity(ctx: Ctx): Promise<void> {
  await ctx.db.execute(sql`select set_config('pg_trgm.word_similarity_threshold', ${String(similarity)}, true)`)
}

function inTransactionForSearch<Result>(ctx: Ctx, search: string | undefined, read: (ctx: Ctx) => Promise<Result>) {
  if (search === undefined) return read(ctx)
  return inTransaction(ctx, async (ctx) => {
    await setSimilarity(ctx)
    return read(ctx)
  })
}

/** Contains it, wildcards taken literally, or has a word much like it. */
function matchesSearch(search: string): SQL {
  const pattern = `%${search.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`
  const contains = sql`${searchText(contacts)} like ${pattern}`
  // Less than three letters make no trigram to be alike in.
  if (search.length < 3) return contains
  return sql`(${contains} or ${search.toLowerCase()} <% ${searchText(contacts)})`
}

const mostRanked = 1_000

/** Ranks at most a thousand that match, so that a search that half the workspace fits costs no more than another. */
async function rankedPage(ctx: Ctx, query: ContactQuery & { search: string }, where: SQL | undefined) {
  await setSimilarity(ctx)
  const search = query.search.toLowerCase()
  const found = ctx.db
    .select({
      ...contactColumns,
      rank: sql<number>`(case when strpos(${searchText(contacts)}, ${search}) > 0 then 1 else 0 end
        + word_similarity(${search}, ${searchText(contacts)}))::float8`.as('rank'),
    })
    .from(contacts)
    .where(where)
    .limit(mostRanked)
    .as('found')
  return readPage<ContactRow & { rank: number }>(ctx, {
    name: `contacts ${search}`,
    query: { ...query, sort: '-rank' },
    key: { column: found.rank, type: 'float8', valueOf: (row) => String(row.rank) },
    id: { column: found.id, valueOf: (row) => row.id },
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(found)
        .where(after)
        .orderBy(...orderBy)
        .limit(limit),
  })
}

function sortedPage(ctx: Ctx, query: ContactQuery & { sort: string }, where: SQL | undefined) {
  return readPage<ContactRow>(ctx, {
    name: 'contacts',
    query,
    key: sortKeys[query.sort.replace('-', '') as keyof typeof sortKeys],
    id: { column: contacts.id, valueOf: (row) => row.id },
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(contacts)
        .where(and(where, after))
        .orderBy(...orderBy)
        .limit(limit),
  })
}

const moment = (date: Date) => date.toISOString()
const sortKeys = {
  createdAt: { column: contacts.createdAt, type: 'timestamptz', valueOf: (row: ContactRow) => moment(row.createdAt) },
  updatedAt: { column: contacts.updatedAt, type: 'timestamptz', valueOf: (row: ContactRow) => moment(row.updatedAt) },
  lastActivityAt: {
    column: activityOrder(contacts.lastActivityAt),
    type: 'timestamptz',
    valueOf: (row: ContactRow) => (row.lastActivityAt ? moment(row.lastActivityAt) : '-infinity'),
  },
  email: {
    column: sql`lower(${contacts.email})`,
    type: 'text',
    valueOf: (row: ContactRow) => row.email.toLowerCase(),
  },
} as const

function isOnList(ctx: Ctx, listId: string): SQL {
  return exists(
    ctx.db
      .select({ one: sql`1` })
      .from(subscriptions)
      .where(
        and(
          eq(subscriptions.workspaceId, ctx.workspaceId),
          eq(subscriptions.listId, listId),
          eq(subscriptions.contactId, contacts.id),
        ),
      ),
  )
}

async function hasCustomValues(ctx: Ctx, wanted: Record<string, string>): Promise<SQL | undefined> {
  if (Object.keys(wanted).length === 0) return undefined
  const fields = await readCustomFields(ctx)
  const values = Object.entries(wanted).map(([key, text]) => {
    const result = checkCustomValue(fields, key, fromText(fields, key, text))
    if ('message' in result) throw invalidField(`customField.${key}`, `customField.${key}: ${result.message}`)
    return [key, result.value]
  })
  return sql`${contacts.customFieldValues} @> ${JSON.stringify(Object.fromEntries(values))}::jsonb`
}
