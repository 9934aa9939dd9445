/**
 * Reads contacts by id. Concurrent reads share a statement, for speed: with a statement for each read, built by Drizzle
 * or prepared, `GET /contacts/{id}` serves 0.57 times the requests per second and costs the API 1.6 times the CPU time
 * (benchmark `read`, 2026-11-22). `create-contact.int.test.ts` covers concurrent reads.
 */
import { and, eq, sql } from 'drizzle-orm'
import { memoizePerDb } from '../db/client.ts'
import { type Params, prepared } from '../db/prepared-query.ts'
import { contacts } from '../db/schema/index.ts'
import { notFound } from '../kernel/errors.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import { microBatch } from '../kernel/concurrency/micro-batch.ts'
import type { Ctx } from '../request/context.ts'
import { contactColumnsIn, type ContactRow, toContact } from './contact-record.ts'
import type { Contact } from './contacts.schema.ts'

/** Reads one contact. Throws `not_found`. */
export async function readContact(ctx: Ctx, id: ContactId): Promise<Contact> {
  const row = await readInBatch(ctx.db)({ workspaceId: ctx.workspaceId, id })
  if (!row) throw notFound('Contact')
  return toContact(row)
}

type Key = Pick<ContactRow, 'workspaceId' | 'id'>

const readInBatch = memoizePerDb((db) =>
  microBatch(async (keys: Key[]) => {
    const rows = await selectContacts(db, {
      workspaceIds: keys.map(({ workspaceId }) => uuidOf(workspaceId)),
      ids: keys.map(({ id }) => uuidOf(id)),
    })
    return keys.map(({ workspaceId, id }) => rows.find((row) => row.id === id && row.workspaceId === workspaceId))
  }),
)

const selectContacts = prepared(
  'read contacts',
  (db, param: Params<{ workspaceIds: readonly string[]; ids: readonly string[] }>) => {
    const keys = sql`unnest(${param('workspaceIds')}::uuid[], ${param('ids')}::uuid[]) as key (workspace_id, id)`
    const isRequested = and(eq(contacts.workspaceId, sql`key.workspace_id`), eq(contacts.id, sql`key.id`))
    return db.select(contactColumnsIn(sql`key.workspace_id`)).from(contacts).innerJoin(keys, isRequested)
  },
)
