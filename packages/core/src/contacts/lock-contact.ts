import { type Ctx, inTransaction } from '../request/context.ts'
import { lockContact, lockContacts } from './update-contact.ts'

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
