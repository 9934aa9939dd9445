/** The records of contacts, such as deals: the lock of the contact guards them. */
import { getTableColumns, getTableName, type SQL, sql } from 'drizzle-orm'
import type { AnyPgColumn, PgTable } from 'drizzle-orm/pg-core'
import { contacts } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import type { ContactId, IdOf, IdPrefix } from '../kernel/ids.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { lockContacts } from './lock-contact.ts'

/** A record that belongs to a contact. Every change of it takes the lock of the contact first. */
interface Row {
  id: IdOf<IdPrefix>
  contactId: ContactId | null
}
type TableOf<R extends Row> = PgTable & Record<'workspaceId' | 'id' | 'contactId', AnyPgColumn> & { $inferSelect: R }

/** How the records of a table are read. */
interface OwnedRecords<R extends Row> {
  find: (ctx: Ctx, id: R['id']) => Promise<R | undefined>
  /**
   * Locks the contact of the record, then the record, which shows its latest version. Returns undefined if it does not
   * exist, or if its contact changed while this waited.
   */
  lock: (ctx: Ctx, id: R['id']) => Promise<R | undefined>
}

/**
 * Prepares how the records of a table are read. `isOrphan` is the condition for a record without a contact, or that
 * has outlived it: its own lock guards it.
 */
export function recordsOfContacts<R extends Row>(
  table: TableOf<R>,
  { isOrphan }: { isOrphan?: SQL } = {},
): OwnedRecords<R> {
  const columns = getTableColumns(table)
  const names = sql.join(Object.values(columns), sql`, `)
  const prepare = (verb: string, { join = sql``, lock = sql`` }: { join?: SQL; lock?: SQL }) => {
    const select = namedStatement(`${verb} ${getTableName(table)}`, {
      isPrepared: true,
      params: { workspaceId: table.workspaceId, id: table.id },
      columns,
      sql: (param) => sql`
        select ${names} from ${table} ${join}
        where ${table.workspaceId} = ${param.workspaceId} and ${table.id} = ${param.id} ${lock}`,
    })
    return async (ctx: Ctx, id: R['id']): Promise<R | undefined> => {
      const [row] = await select(ctx.db, { workspaceId: ctx.workspaceId, id })
      return row as R | undefined
    }
  }
  const join = sql`join ${contacts} on ${contacts.workspaceId} = ${table.workspaceId} and ${contacts.id} = ${table.contactId}`
  const lockWithContact = prepare('lock', { join, lock: sql`for no key update of ${contacts}, ${table}` })
  const lockOrphan = isOrphan && prepare('lock without a contact', { lock: sql`and ${isOrphan} for no key update` })
  return {
    find: prepare('find', {}),
    lock: async (ctx, id) => (await lockWithContact(ctx, id)) ?? (await lockOrphan?.(ctx, id)),
  }
}

interface LockedRecord<R extends Row> {
  of: OwnedRecords<R>
  id: R['id']
  /** A second contact to lock, if the record moves to it. */
  otherContactId?: ContactId | undefined
}

/** Locks a record and its contact, which guards the record, until the transaction ends. */
export async function lockContactOf<R extends Row>(ctx: Ctx, record: LockedRecord<R>): Promise<void> {
  const isLocked = (await lockRecord(ctx, record)) !== undefined
  // Repeats if the record moved to another contact in the meantime.
  if (!isLocked && (await record.of.find(ctx, record.id))) await lockContactOf(ctx, record)
}

/**
 * Runs `work` in a transaction on a record that belongs to a contact, with both locked. Returns undefined if the record
 * does not exist. Retries if the record moved to another contact before the lock was acquired.
 */
export async function withContactLocked<R extends Row, Result>(
  ctx: Ctx,
  record: LockedRecord<R>,
  work: (ctx: Ctx, row: R) => Promise<Result>,
): Promise<Result | undefined> {
  const { of, id } = record
  const done = await inTransaction(ctx, async (ctx) => {
    const row = await lockRecord(ctx, record)
    return row && { result: await work(ctx, row) }
  })
  if (done) return done.result
  return (await of.find(ctx, id)) ? withContactLocked(ctx, record, work) : undefined
}

/** Locks two contacts in the order of their ids, like all writers. */
async function lockRecord<R extends Row>(
  ctx: Ctx,
  { of, id, otherContactId }: LockedRecord<R>,
): Promise<R | undefined> {
  if (!otherContactId) return of.lock(ctx, id)
  const seen = await of.find(ctx, id)
  if (!seen) return undefined
  await lockContacts(ctx, seen.contactId ? [seen.contactId, otherContactId] : [otherContactId])
  const row = await of.lock(ctx, id)
  return row?.contactId === seen.contactId ? row : undefined
}
