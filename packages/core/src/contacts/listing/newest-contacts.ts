/**
 * Kept for speed: FIGURE (bench `read`, 2026-11-22). A test compares it with a listing by filters.
 */
import { and, desc, eq, sql } from 'drizzle-orm'
import { type Params, prepared } from '../../db/prepared-query.ts'
import { contacts } from '../../db/schema/index.ts'
import type { Ctx } from '../../request/context.ts'
import type { Part } from '../../request/paging.ts'
import { contactColumns, type ContactRow } from '../contact-record.ts'

/** Part of the listing of all contacts, newest first, by prepared statements. */
export function readNewestContacts(
  ctx: Ctx,
  { position, limit }: Pick<Part, 'position' | 'limit'>,
): Promise<ContactRow[]> {
  const { workspaceId } = ctx
  return position
    ? selectOlder(ctx.db, { workspaceId, limit, ...position })
    : selectNewest(ctx.db, { workspaceId, limit })
}

const selectNewest = prepared('list contacts', (db, param: Params<{ workspaceId: string; limit: number }>) =>
  db
    .select(contactColumns)
    .from(contacts)
    .where(eq(contacts.workspaceId, sql.param(param('workspaceId'), contacts.workspaceId)))
    .orderBy(desc(contacts.createdAt), desc(contacts.id))
    .limit(param('limit')),
)

const selectOlder = prepared(
  'list older contacts',
  (db, param: Params<{ workspaceId: string; limit: number; key: string; uuid: string }>) =>
    db
      .select(contactColumns)
      .from(contacts)
      .where(
        and(
          eq(contacts.workspaceId, sql.param(param('workspaceId'), contacts.workspaceId)),
          sql`(${contacts.createdAt}, ${contacts.id}) < (${param('key')}::timestamptz, ${param('uuid')}::uuid)`,
        ),
      )
      .orderBy(desc(contacts.createdAt), desc(contacts.id))
      .limit(param('limit')),
)
