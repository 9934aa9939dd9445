import { type Ctx, inTransaction } from '../request/context.ts'
import { and, eq, inArray, sql, type SQLWrapper } from 'drizzle-orm'
import { type Params, prepared } from '../db/prepared-query.ts'
import { contactAliases, contacts } from '../db/schema/index.ts'
import type { ContactId, WorkspaceId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import { contactColumns, type ContactRow } from './contact-record.ts'

/**
 * Locks a contact until the transaction ends. Returns undefined if it does not exist. Every change of a contact or of
 * its records takes this lock first, so that derived statuses are consistent and concurrent changes do not deadlock.
 */
export async function lockContact(ctx: Ctx, id: ContactId): Promise<ContactRow | undefined> {
  const [row] = await selectForUpdate(ctx.db, { workspaceId: ctx.workspaceId, id })
  return row
}

/** Prepared, because every change of a contact starts with it: see `updateStatement`. */
const selectForUpdate = prepared('lock a contact', (db, param: Params<{ workspaceId: WorkspaceId; id: ContactId }>) =>
  db
    .select(contactColumns)
    .from(contacts)
    .where(
      and(
        eq(contacts.workspaceId, sql.param(param('workspaceId'), contacts.workspaceId)),
        eq(contacts.id, sql.param(param('id'), contacts.id)),
      ),
    )
    .for('no key update'),
)

/**
 * Locks several contacts, by their ids or a subquery for these, in the order of their ids like all writers, which prevents
 * deadlocks.
 */
export async function lockContacts(ctx: Ctx, ids: readonly ContactId[] | SQLWrapper): Promise<void> {
  await ctx.db
    .select({ id: contacts.id })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), inArray(contacts.id, ids)))
    .orderBy(contacts.id)
    .for('no key update')
}

/** Locks a contact, or the contact that it was merged into, and returns the id of the locked contact. */
export async function lockCurrentContact(ctx: Ctx, id: ContactId): Promise<ContactId> {
  if (await lockContact(ctx, id)) return id
  const [alias] = await ctx.db
    .select({ contactId: contactAliases.contactId })
    .from(contactAliases)
    .where(byId(contactAliases, ctx, id))
  return alias ? lockCurrentContact(ctx, alias.contactId) : id
}

interface ContactRecord<Row extends { id: string }> {
  id: Row['id']
  find: (ctx: Ctx, id: Row['id']) => Promise<Row | undefined>
  /** A second contact to lock, if the record moves to it. */
  otherContactId?: ContactId | undefined
}

/** Locks the contact of a record, which guards the record, until the transaction ends. */
export async function lockContactOf<Row extends { id: string; contactId: ContactId }>(
  ctx: Ctx,
  { id, find }: Pick<ContactRecord<Row>, 'id' | 'find'>,
): Promise<void> {
  let locked: ContactId | undefined
  // Repeats if the record moved to another contact before the lock was acquired.
  for (let row = await find(ctx, id); row && row.contactId !== locked; row = await find(ctx, id)) {
    await lockContact(ctx, row.contactId)
    locked = row.contactId
  }
}

/**
 * Runs `work` in a transaction on a record that belongs to a contact. The contact's lock also guards the record: every
 * change of either takes it first, including a merge or deletion of the contact. Returns undefined if the record does
 * not exist. Retries if the record moved to another contact before the lock was acquired.
 */
export async function withContactLocked<Row extends { id: string; contactId: ContactId }, Result>(
  ctx: Ctx,
  record: ContactRecord<Row>,
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
