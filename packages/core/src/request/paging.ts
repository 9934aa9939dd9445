import { sql, type SQL, type SQLWrapper } from 'drizzle-orm'
import { z } from 'zod'
import type { Ctx } from './context.ts'
import { invalidField } from '../kernel/errors.ts'
import { type IdOf, type IdPrefix, uuidOf } from '../kernel/ids.ts'
import { verifyPayload, signPayload } from '../kernel/crypto.ts'

const limitMessage = 'must be a whole number from 1 to 100'

/** The query of every listing, to be extended with its filters and sorts. Unknown parameters are refused. */
export const PageQuery = z.strictObject({
  limit: z
    .string()
    .regex(/^\d{1,3}$/, limitMessage)
    .transform(Number)
    .refine((limit) => limit >= 1 && limit <= 100, limitMessage)
    .default(50)
    .describe('How many records, 1 to 100'),
  cursor: z.string().max(600, 'Invalid cursor').optional().describe('`nextCursor` of the page before'),
})
export type PageQuery = z.output<typeof PageQuery>

/** `sort` over the named fields, each also with a minus for descending; newest first unless told otherwise. */
export function Sort<const Fields extends readonly string[]>(fields: Fields) {
  return SortBy(fields).default('-createdAt' as never)
}

/** The same for a listing that has an order of its own when none is asked for. */
export function SortBy<const Fields extends readonly string[]>(fields: Fields) {
  const names = fields.flatMap((field) => [field, `-${field}`]) as (Fields[number] | `-${Fields[number]}`)[]
  return z.enum(names, { error: `must be one of ${names.join(', ')}` })
}

export interface Page<Item> {
  data: Item[]
  nextCursor: string | null
}

/** Schema of a page of records. */
export function PageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ data: z.array(item), nextCursor: z.string().nullable() })
}

interface Listing<Row> {
  /** Names the listing in its cursors, so that another listing refuses them. */
  name: string
  query: { limit: number; cursor?: string | undefined; sort: string }
  /** What the field of `sort` is in SQL, and in a row as text that PostgreSQL reads back exactly. */
  key: {
    column: SQLWrapper
    type: 'timestamptz' | 'text' | 'float8' | 'int8' | 'uuid' | 'xid8'
    valueOf: (row: Row) => string
  }
  /** The tie-break, unique in the listing. */
  id: { column: SQLWrapper; valueOf: (row: Row) => IdOf<IdPrefix> }
  read: (part: PageWindow) => Promise<Row[]>
}

export interface PageWindow {
  /** Where the page before ended, for prepared statements; `after` is the same as a condition. */
  position: { key: string; uuid: string } | undefined
  after: SQL | undefined
  /** Says of the key alone what `after` says: for a key and a tie-break out of two tables, which no index has. */
  from: SQL | undefined
  orderBy: SQL[]
  limit: number
}

/**
 * Reads one page by keyset: what a page costs does not depend on how deep it lies, and while others insert no record
 * repeats or goes missing. A cursor that was tampered with, or comes from another listing or sort, is invalid.
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
  const last = rows.length > query.limit ? data.at(-1) : undefined
  const nextCursor = last
    ? signPayload(ctx.settings.keys.cursors, scope, [key.valueOf(last), uuidOf(id.valueOf(last))])
    : null
  return { data, nextCursor }

  function openCursor(cursor: string) {
    const payload = verifyPayload(ctx.settings.keys.cursors, scope, cursor)
    if (!payload) throw invalidField('cursor', 'Invalid cursor')
    const [key, uuid] = payload
    return { key: String(key), uuid: String(uuid) }
  }
}

/** Newest first by `created_at`: the key of listings that know no other order. */
export function byCreation<Row extends { id: IdOf<IdPrefix>; createdAt: Date }>(table: {
  createdAt: SQLWrapper
  id: SQLWrapper
}): Pick<Listing<Row>, 'key' | 'id'> {
  return {
    key: { column: table.createdAt, type: 'timestamptz', valueOf: (row) => row.createdAt.toISOString() },
    id: { column: table.id, valueOf: (row) => row.id },
  }
}
