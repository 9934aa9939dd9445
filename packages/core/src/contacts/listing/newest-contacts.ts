/**
 * Lists contacts, newest first, with prepared statements, for speed: if Drizzle builds and maps a statement for each
 * page, `GET /contacts?limit=50` costs the API 1.7 times the CPU time (benchmark `read`, 2026-11-22).
 * `newest-contacts.int.test.ts` compares the results of both.
 */
import { sql } from 'drizzle-orm'
import { contacts } from '../../db/schema/index.ts'
import { limitPage } from '../../db/statements/limit-page.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { int, text, uuid } from '../../db/statements/sql-types.ts'
import type { Ctx } from '../../request/context.ts'
import type { PageWindow } from '../../request/paging.ts'
import { contactColumns, type ContactRow } from '../contact-record.ts'

/** `workspaceId` is known and need not be selected. */
const { workspaceId: _, ...columns } = contactColumns
const selected = sql.join(Object.values(columns), sql`, `)

/** Reads a page of all contacts, newest first, by prepared statements whose rows Drizzle does not map. */
export async function readNewestContacts(
  ctx: Ctx,
  { position, limit }: Pick<PageWindow, 'position' | 'limit'>,
): Promise<ContactRow[]> {
  const { workspaceId } = ctx
  const values = { workspaceId, limit }
  const rows = await (position ? selectOlder(ctx.db, { ...values, ...position }) : selectNewest(ctx.db, values))
  return rows.map((row) => ({ ...row, workspaceId }))
}

const order = sql`created_at desc, id desc`

const selectNewest = namedStatement('list contacts', {
  isPrepared: true,
  params: { workspaceId: contacts.workspaceId, limit: int },
  columns,
  sql: ({ workspaceId, limit }) =>
    limitPage(sql`select ${selected} from ${contacts} where workspace_id = ${workspaceId}`, { order, limit }),
})

const selectOlder = namedStatement('list older contacts', {
  isPrepared: true,
  params: { workspaceId: contacts.workspaceId, limit: int, key: text, uuid },
  columns,
  sql: ({ workspaceId, limit, key, uuid }) =>
    limitPage(
      sql`select ${selected} from ${contacts}
        where workspace_id = ${workspaceId} and (created_at, id) < (${key}::timestamptz, ${uuid})`,
      { order, limit },
    ),
})
