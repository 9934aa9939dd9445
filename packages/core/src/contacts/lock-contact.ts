import { type Ctx, inTransaction } from '../request/context.ts'
import { and, eq, inArray, sql } from 'drizzle-orm'
import { contactAliases, contacts } from '../db/schema/index.ts'
import type { ContactRow } from './contact-record.ts'
import { selectAndLockContact } from './contact-statements.ts'

/**
 * Locks a contact until the transaction ends; undefined when there is none. Whoever changes a contact, or what hangs on
 * one, takes it first: so a status is never derived from half of two changes, and nobody waits for each other.
 */
export async function lockContact(ctx: Ctx, id: string): Promise<ContactRow | undefined> {
  const [row] = await selectAndLockContact(ctx.db, { workspaceId: ctx.workspaceId, id })
  return row
}

/** Locks many, in the order in which whoever writes many has them, so that nobody waits for each other. */
export async function lockContacts(ctx: Ctx, ids: readonly string[]): Promise<void> {
  await ctx.db
    .select({ id: contacts.id })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), inArray(contacts.id, [...ids])))
    .orderBy(sql`lower(${contacts.email})`)
    .for('no key update')
}

/** Locks who this contact is by now, as it may have been merged into another, and answers whose id that is. */
export async function lockCurrentContact(ctx: Ctx, id: string): Promise<string> {
  if (await lockContact(ctx, id)) return id
  const [alias] = await ctx.db
    .select({ contactId: contactAliases.contactId })
    .from(contactAliases)
    .where(and(eq(contactAliases.workspaceId, ctx.workspaceId), eq(contactAliases.id, id)))
  return alias ? lockCurrentContact(ctx, alias.contactId) : id
}

interface OfContact<Row> {
  id: string
  /** Undefined when there is none. */
  find: (ctx: Ctx, id: string) => Promise<Row | undefined>
  /** Another contact that is to be locked too, if the record goes there. */
  otherContactId?: string | undefined
}

/**
 * Does `work` in one transaction on a record that hangs on a contact. The contact's lock is the record's too: whoever
 * changes either takes it first, a merge and a deletion of the contact included, so that changes follow one another and
 * nobody waits for each other. Undefined when there is no such record. Where the record went to another contact before
 * its own was locked, all begins anew.
 */
export async function withContactLocked<Row extends { contactId: string }, Result>(
  ctx: Ctx,
  record: OfContact<Row>,
  work: (ctx: Ctx, row: Row) => Promise<Result>,
): Promise<Result | undefined> {
  const seen = await record.find(ctx, record.id)
  if (!seen) return undefined
  const done = await inTransaction(ctx, async (ctx) => {
    const { contactId } = seen
    const { otherContactId = contactId } = record
    if (otherContactId === contactId) await lockContact(ctx, contactId)
    else await lockContacts(ctx, [contactId, otherContactId])
    const row = await record.find(ctx, record.id)
    if (row?.contactId !== contactId) return undefined
    return { result: await work(ctx, row) }
  })
  return done ? done.result : withContactLocked(ctx, record, work)
}
