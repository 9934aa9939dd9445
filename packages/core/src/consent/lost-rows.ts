/**
 * Endings that no row explains: those of a lost SECRET_KEY, or of a backup without its key. They stay ended until their
 * people return by a link.
 */
import { and, asc, eq, isNull, ne, notInArray, or, sql } from 'drizzle-orm'
import { contacts, subscriptions, workspaces } from '../db/schema/index.ts'
import { hasSqlState } from '../db/database-errors.ts'
import { transaction } from '../db/transaction.ts'
import type { Db } from '../db/client.ts'
import type { Keys } from '../kernel/crypto.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import {
  addSuppression,
  type AddressedContact,
  type ConsentRecords,
  readRows,
  type SubscriptionKey,
} from './consent-records.ts'
import { isOpen, isRowLost, type SubscriptionState } from './derive-status.ts'
import { hashEmail, type Hashing } from './hash-email.ts'
import { coversList } from './suppression-rows.ts'

/**
 * Writes the rows that are missing for what has ended the subscriptions of contacts, before a contact loses its address,
 * or its own status says less. In one pass: a report can be about ten thousand contacts.
 */
export function restoreLostRows(
  ctx: Ctx,
  records: ConsentRecords,
  contacts: readonly AddressedContact[] = records.contacts,
): void {
  const emails = new Map(contacts.map(({ id, email }) => [id, email]))
  const byHash = Map.groupBy(records.rows.values(), ({ emailHash }) => emailHash)
  const states = [...records.subscriptions.values()]
  const reached = new Set(states.filter(({ status }) => status === 'CONFIRMED').map(({ contactId }) => contactId))
  for (const state of states) {
    const { status, listId, contactId, unsubscribedAt } = state
    const email = emails.get(contactId)
    // A link has returned: the address does not bounce any more.
    if (email === undefined || isOpen(state) || (status === 'BOUNCED' && reached.has(contactId))) continue
    const rows = byHash.get(records.hashOf(email)) ?? []
    if (!isRowLost(state, rows.filter(coversList(listId)))) continue
    const said =
      status === 'COMPLAINED' || status === 'BOUNCED'
        ? ({ listId: null, reason: status, source: 'MAIL_EVENT' } as const)
        : ({ listId, reason: 'OPTED_OUT', source: 'LINK' } as const)
    const { row } = addSuppression(ctx, records, { ...said, email, at: unsubscribedAt ?? undefined })
    byHash.set(row.emailHash, [...rows, row])
  }
}

/**
 * The records as if no row were lost: for a question, and for a link, which takes back what is lost as if it were stored, so
 * that no verb says it again later.
 */
export function withLostRows(ctx: Ctx, records: ConsentRecords): ConsentRecords {
  const rows = new Map(records.rows)
  restoreLostRows(ctx, { ...records, rows })
  const added = [...rows.values()].map((row) => [row.id, row] as const)
  return { ...records, rows, stored: { ...records.stored, rows: new Map([...added, ...records.stored.rows]) } }
}

export interface LostRows {
  /** How many subscriptions have ended although neither a row nor their own status says so. */
  count: number
  /** Whether `timeoutMs` passed before every subscription was read. */
  isIncomplete: boolean
}

interface Search {
  keys: Keys
  timeoutMs: number
  /** How many subscriptions are in memory at once. */
  chunkSize?: number
}

/** Counts the endings of all workspaces that no row explains. Of each, the address is hashed: 100,000 take about a second. */
export async function countLostRows(db: Db, { keys, timeoutMs, chunkSize = 1_000 }: Search): Promise<LostRows> {
  const deadline = Date.now() + timeoutMs
  let count = 0
  for (const { id } of await db.select({ id: workspaces.id }).from(workspaces).where(isNull(workspaces.deletedAt))) {
    let after: SubscriptionKey | undefined
    do {
      const remainingMs = deadline - Date.now()
      if (remainingMs <= 0) return { count, isIncomplete: true }
      const chunk = await readWithin(db, remainingMs, async (db) => {
        const ctx = { db, workspaceId: id, settings: { keys } }
        const ended = await readEnded(ctx, { after, limit: chunkSize })
        return { last: ended.length < chunkSize ? undefined : ended.at(-1)?.state, lost: await countLost(ctx, ended) }
      })
      if (!chunk) return { count, isIncomplete: true }
      count += chunk.lost
      after = chunk.last
    } while (after)
  }
  return { count, isIncomplete: false }
}

/** Returns undefined if a statement takes longer. */
function readWithin<Result>(db: Db, timeoutMs: number, read: (db: Db) => Promise<Result>): Promise<Result | undefined> {
  return transaction(db, read, { statement_timeout: String(timeoutMs) }).catch((error: unknown) => {
    // query_canceled
    if (hasSqlState(error, ['57014'])) return undefined
    throw error
  })
}

interface Ended {
  state: SubscriptionState
  email: string
}

/** In the order of their key. A removal explains an UNSUBSCRIBED without its row. */
function readEnded(
  { db, workspaceId }: Pick<Ctx, 'db' | 'workspaceId'>,
  { after, limit }: { after: SubscriptionKey | undefined; limit: number },
): Promise<Ended[]> {
  const { listId, contactId, status, ownStatus } = subscriptions
  const isLater =
    after && sql`(${listId}, ${contactId}) > (${uuidOf(after.listId)}::uuid, ${uuidOf(after.contactId)}::uuid)`
  return db
    .select({ state: subscriptions, email: contacts.email })
    .from(subscriptions)
    .innerJoin(contacts, and(eq(contacts.workspaceId, subscriptions.workspaceId), eq(contacts.id, contactId)))
    .where(
      and(
        eq(subscriptions.workspaceId, workspaceId),
        notInArray(status, ['PENDING', 'CONFIRMED']),
        or(ne(ownStatus, 'REMOVED'), ne(status, 'UNSUBSCRIBED')),
        isLater,
      ),
    )
    .orderBy(asc(listId), asc(contactId))
    .limit(limit)
}

async function countLost(ctx: Hashing & Pick<Ctx, 'db'>, ended: readonly Ended[]): Promise<number> {
  const rows = (await readRows(ctx, [...new Set(ended.map(({ email }) => email))])).map(({ hashed }) => hashed)
  const byHash = Map.groupBy(rows, ({ emailHash }) => emailHash)
  const rowsOf = (email: string) => (byHash.size === 0 ? [] : (byHash.get(hashEmail(ctx, email)) ?? []))
  return ended.filter(({ state, email }) => isRowLost(state, rowsOf(email).filter(coversList(state.listId)))).length
}
