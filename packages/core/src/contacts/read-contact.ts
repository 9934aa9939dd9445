/**
 * Reads contacts by id. Concurrent reads of a workspace share a statement, for speed: with a statement for each read,
 * built by Drizzle or prepared, `GET /contacts/{id}` serves 0.57 times the requests per second and costs the API 1.6
 * times the CPU time (benchmark `read`, 2026-11-22). `create-contact.int.test.ts` covers concurrent reads.
 */
import { sql } from 'drizzle-orm'
import { memoizePerDb } from '../db/client.ts'
import { givenIds } from '../db/given-ids.ts'
import { contacts } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf } from '../db/statements/sql-types.ts'
import { AppError, invalidField, notFound } from '../kernel/errors.ts'
import type { ContactId } from '../kernel/ids.ts'
import { microBatch } from '../kernel/concurrency/micro-batch.ts'
import type { Ctx } from '../request/context.ts'
import { contactColumns, type ContactRow, toContact } from './contact-record.ts'
import type { Contact } from './contacts.schema.ts'

/** Reads one contact. Throws `not_found`. */
export async function readContact(ctx: Ctx, id: ContactId): Promise<Contact> {
  const row = await readInBatch(ctx.db)({ workspaceId: ctx.workspaceId, id })
  if (!row) throw notFound('Contact')
  return toContact(row)
}

/** Reads the contact that a request body refers to. Throws `validation_error` if the contact does not exist. */
export async function findReferencedContact(ctx: Ctx, contactId: ContactId): Promise<Contact> {
  return readContact(ctx, contactId).catch((error: unknown) => {
    throw error instanceof AppError ? invalidField('contactId', 'Contact not found') : error
  })
}

const readInBatch = memoizePerDb((db) =>
  microBatch(
    async (keys: Pick<ContactRow, 'workspaceId' | 'id'>[]) => {
      const [first] = keys
      const ids = keys.map(({ id }) => id)
      const rows = first ? await selectContacts(db, { workspaceId: first.workspaceId, ids }) : []
      return keys.map(({ id }) => rows.find((row) => row.id === id))
    },
    ({ workspaceId }) => workspaceId,
  ),
)

const names = sql.join(Object.values(contactColumns), sql`, `)
const selectContacts = namedStatement('read contacts', {
  isPrepared: true,
  params: { workspaceId: contacts.workspaceId, ids: arrayOf(contacts.id) },
  columns: contactColumns,
  sql: (param) => sql`
    select ${names} from ${givenIds(param.ids)} join ${contacts} on ${contacts.id} = given.id
    where ${contacts.workspaceId} = ${param.workspaceId}`,
})
