/**
 * Lists contacts, newest first, with prepared statements, for speed: if Drizzle builds and maps a statement for each
 * page, `GET /contacts?limit=50` costs the API 1.7 times the CPU time (benchmark `read`, 2026-11-22).
 * `newest-contacts.int.test.ts` compares the results of both.
 */
import { sql } from 'drizzle-orm'
import { contacts } from '../../db/schema/index.ts'
import { preparedSql } from '../../db/prepared-query.ts'
import { selectList, toRow } from '../../db/raw-rows.ts'
import { uuidOf } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import type { PageWindow } from '../../request/paging.ts'
import { contactColumns, type ContactRow } from '../contact-record.ts'

/** `workspaceId` is known and need not be selected. */
const { workspaceId: _, ...columns } = contactColumns

/** Reads a page of all contacts, newest first, by prepared statements whose rows Drizzle does not map. */
export async function readNewestContacts(
  ctx: Ctx,
  { position, limit }: Pick<PageWindow, 'position' | 'limit'>,
): Promise<ContactRow[]> {
  const values = { workspaceId: uuidOf(ctx.workspaceId), limit }
  const rows = await (position ? selectOlder(ctx.db, { ...values, ...position }) : selectNewest(ctx.db, values))
  return rows.map((row) => ({ ...toRow(columns, row), workspaceId: ctx.workspaceId }))
}

const selectNewest = preparedSql<{ workspaceId: string; limit: number }, Record<string, unknown>>(
  'list contacts',
  (param) => sql`
    select ${selectList(columns)} from ${contacts}
    where workspace_id = ${param('workspaceId')}
    order by created_at desc, id desc limit ${param('limit')}`,
)

const selectOlder = preparedSql<
  { workspaceId: string; limit: number; key: string; uuid: string },
  Record<string, unknown>
>(
  'list older contacts',
  (param) => sql`
    select ${selectList(columns)} from ${contacts}
    where workspace_id = ${param('workspaceId')}
      and (created_at, id) < (${param('key')}::timestamptz, ${param('uuid')}::uuid)
    order by created_at desc, id desc limit ${param('limit')}`,
)
