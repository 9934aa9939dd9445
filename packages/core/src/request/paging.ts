import { sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { z } from 'zod'
import type { Ctx } from './context.ts'
import { invalidField } from '../kernel/errors.ts'
import { type IdOf, type IdPrefix, uuidOf } from '../kernel/ids.ts'
import { decryptPayload, encryptPayload } from '../kernel/crypto.ts'
import { EmptyAsNone, Token } from '../kernel/validation.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'
import { timeRange } from './time-range.ts'

const limitMessage = 'must be a whole number from 1 to 100'

export const Cursor = EmptyAsNone(Token(600))

/**
 * The query of a listing, to be extended with its filters and sorts. Unknown parameters are rejected. Every listing
 * applies the time range, with `isCreatedInRange`.
 */
export const PageQuery = z.strictObject({
  limit: z
    .string()
    // Stricter than a coerced number, which would accept "1e1" and " 5".
    .refine((text) => /^\d{1,3}$/.test(text), limitMessage)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= 100, limitMessage)
    .default(50)
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: 100,
      description: 'The maximum number of records on the page.',
    }),
  cursor: Cursor.describe(
    'The `nextCursor` of the previous page, with the same filters and sort. Omit it to get the first page.',
  ),
  ...timeRange('created'),
})
export type PageQuery = z.output<typeof PageQuery>

/** The schema of `sort`: a field name, with a leading minus for descending order. Newest first by default. */
export function Sort<const Fields extends readonly string[]>(fields: Fields) {
  return SortBy(fields)
    .default('-createdAt' as never)
    .describe('The field to sort by. A leading minus sorts in descending order. Default: newest first.')
}

/** The schema of `sort` without a default, for listings with their own default order. */
export function SortBy<const Fields extends readonly string[]>(fields: Fields) {
  const names = fields.flatMap((field) => [field, `-${field}`]) as (Fields[number] | `-${Fields[number]}`)[]
  return z.enum(names)
}

/** The schema of a query parameter that can be repeated: `?status=OPEN&status=WON`. An error names the parameter. */
export function Repeatable<Item extends z.ZodType>(item: Item) {
  const toArray = (value: unknown, check: z.RefinementCtx) => {
    const values: unknown[] = Array.isArray(value) ? value : [value]
    const issues = values.flatMap((one) => item.safeParse(one).error?.issues ?? [])
    for (const { message } of issues.slice(0, 1)) check.addIssue({ code: 'custom', message, input: value })
    return values
  }
  return z.preprocess(toArray, z.array(item).max(20, 'must have at most 20 values'))
}

export interface Page<Item> {
  data: Item[]
  nextCursor: string | null
}

/** The schema of a page of records. In the API documentation, a page of `Contact` is named `ContactPage`. */
export function PageOf<Item extends z.ZodType>(item: Item): PageSchema<Item> {
  const page = pages.get(item) ?? createPage(item)
  pages.set(item, page)
  return page as PageSchema<Item>
}

type PageSchema<Item extends z.ZodType> = ReturnType<typeof createPage<Item>>

/** A name can be registered only once. */
const pages = new WeakMap<z.ZodType, z.ZodType>()

function createPage<Item extends z.ZodType>(item: Item) {
  const { id = '' } = item.meta() ?? {}
  return z
    .object({
      data: z.array(item).describe('The records of the page.'),
      nextCursor: z.string().nullable().describe('Pass it as `cursor` to get the next page. `null` on the last page.'),
    })
    .meta({ id: `${id}Page`, description: `A page of records of type ${id}.` })
}

/** Reads every page of a listing, for operators. */
export async function readAllPages<Item>(
  read: (page: Pick<PageQuery, 'limit' | 'cursor'>) => Promise<Page<Item>>,
): Promise<Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    const page = await read({ limit: 100, cursor })
    items.push(...page.data)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return items
}

interface Listing<Row> {
  /** The cursor is encrypted for this name: a cursor of another listing is invalid. */
  name: string
  query: { limit: number; cursor?: string | undefined; sort: string }
  /** The sort field as a column, and its value in a row as text that PostgreSQL parses without loss. */
  key: {
    column: SQLWrapper
    type: 'timestamptz' | 'text' | 'float8' | 'int8' | 'uuid' | 'xid8'
    valueOf: (row: Row) => string
  }
  /** The tiebreaker, unique in the listing. */
  id: { column: SQLWrapper; valueOf: (row: Row) => IdOf<IdPrefix> }
  read: (part: PageWindow) => Promise<Row[]>
}

export interface PageWindow {
  /** The end of the previous page, for prepared statements; `after` is the same as a condition. */
  position: { key: string; uuid: string } | undefined
  after: SQL | undefined
  /** The part of `after` that uses only the key: for a key and a tiebreaker in two tables, which share no index. */
  from: SQL | undefined
  orderBy: SQL[]
  limit: number
}

/**
 * Reads one page by keyset pagination: the cost does not depend on the depth of the page, and concurrent inserts
 * neither repeat nor skip records. A cursor that was changed, or belongs to another listing or sort, is invalid.
 */
export async function readPage<Row>(ctx: Ctx, listing: Listing<Row>): Promise<Page<Row>> {
  const { query, key, id } = listing
  const scope = `${listing.name} ${query.sort} ${ctx.workspaceId}`
  const isDescending = query.sort.startsWith('-')
  const position = query.cursor === undefined ? undefined : openCursor(query.cursor)
  const comparison = sql.raw(isDescending ? '<' : '>')
  const keyAt = position && sql`${position.key}::${sql.raw(key.type)}`
  const rows = await listing.read({
    position,
    after: position && sql`(${key.column}, ${id.column}) ${comparison} (${keyAt}, ${position.uuid}::uuid)`,
    from: position && sql`${key.column} ${comparison}= ${keyAt}`,
    orderBy: [key.column, id.column].map((column) => (isDescending ? sql`${column} desc` : sql`${column} asc`)),
    limit: query.limit + 1,
  })
  const data = rows.slice(0, query.limit)
  const last = data.at(-1)
  const nextCursor =
    last && rows.length > data.length
      ? encryptPayload(ctx.settings.keys.cursors, scope, [key.valueOf(last), uuidOf(id.valueOf(last))])
      : null
  return { data, nextCursor }

  function openCursor(cursor: string) {
    const payload = decryptPayload(ctx.settings.keys.cursors, scope, cursor)
    if (!payload) throw invalidField('cursor', 'Invalid cursor')
    const [key, uuid] = payload
    return { key: String(key), uuid: String(uuid) }
  }
}

/** Returns one page of a fixed list, in its order. `nameOf` is unique in the list. */
export function pageOfList<Item>(
  ctx: Ctx,
  list: {
    name: string
    query: Pick<PageQuery, 'limit' | 'cursor'>
    items: readonly Item[]
    nameOf: (item: Item) => string
  },
): Page<Item> {
  const { query, items, nameOf } = list
  const scope = `${list.name} ${ctx.workspaceId}`
  const start = query.cursor === undefined ? 0 : findAfter(query.cursor)
  const data = items.slice(start, start + query.limit)
  const last = start + query.limit < items.length ? data.at(-1) : undefined
  return { data, nextCursor: last ? encryptPayload(ctx.settings.keys.cursors, scope, [nameOf(last)]) : null }

  function findAfter(cursor: string): number {
    const payload = decryptPayload(ctx.settings.keys.cursors, scope, cursor)
    const index = items.findIndex((item) => nameOf(item) === payload?.[0])
    if (index < 0) throw invalidField('cursor', 'Invalid cursor')
    return index + 1
  }
}

/** The key of listings that sort by `created_at` only. */
export function byCreation<Row extends { id: IdOf<IdPrefix>; createdAt: Timestamp }>(table: {
  createdAt: SQLWrapper
  id: SQLWrapper
}): Pick<Listing<Row>, 'key' | 'id'> {
  return {
    key: { column: table.createdAt, type: 'timestamptz', valueOf: (row) => row.createdAt },
    id: { column: table.id, valueOf: (row) => row.id },
  }
}
