/**
 * What a transaction knows about consent: the rows against its addresses, and the subscriptions of its contacts. A verb
 * locks and reads them once, changes them in memory, and `deriveStatuses` writes what has changed.
 *
 * | verb                        | own status                       | rows                                      | opens                    |
 * | --------------------------- | -------------------------------- | ----------------------------------------- | ------------------------ |
 * | a visitor asks              | none, REMOVED: PENDING, and mail | none; ignored if a bounce or block exists | one that was REMOVED     |
 * | a caller says PENDING       | none, REMOVED: PENDING, and mail | none; refused while one exists            | one that was REMOVED     |
 * | a caller says CONFIRMED     | CONFIRMED                        | none; refused while one exists            | one that was REMOVED     |
 * | the link in a mail          | CONFIRMED                        | those of persons go; for all: other lists | its subscription         |
 * | the person leaves           | not on the list: REMOVED         | of the list, or for all                   | nothing                  |
 * | their undo, ten minutes     | as it is                         | theirs goes, if no other exists           | what it had ended        |
 * | an operator's opt-out       | not on the list: REMOVED         | of the list, or for all, source API       | nothing                  |
 * | its undo, ten minutes       | as it is                         | it goes, unless the person said the same  | what it had ended        |
 * | an operator takes off       | REMOVED                          | none, but lost ones are written           | nothing                  |
 * | a bounce, a block           | as it is                         | for all                                   | nothing                  |
 * | its lift                    | as it is                         | all of this reason go                     | what it had ended        |
 * | a change of address, merge  | REMOVED of two; or asked again   | copied to both addresses, but no bounce   | what bounced at the old  |
 * | a file says CONFIRMED       | CONFIRMED                        | none; left out while one exists           | one that was REMOVED     |
 * | a file says PENDING         | none: PENDING, without a mail    | none; left out while one exists           | nothing                  |
 * | a file's opt-outs           | not on the list: REMOVED         | in bulk, with their dates                 | nothing                  |
 * | a deletion                  | gone                             | stay, without notes                       | nothing                  |
 */
import { and, eq } from 'drizzle-orm'
import { subscriptions, suppressions } from '../db/schema/index.ts'
import { isAnyOf } from '../db/statements/is-any-of.ts'
import { type ContactId, type ListId, newId, type SuppressionId } from '../kernel/ids.ts'
import { emailKey } from '../kernel/values/email-key.ts'
import type { Ctx } from '../request/context.ts'
import { lockAddresses, type LockMode, type Moments } from './address-locks.ts'
import type { SubscriptionState } from './derive-status.ts'
import { hashEmail, type Hashing, mapToCurrentHashes } from './hash-email.ts'
import { combine, coversList, createSuppressedError, keyOf, repeat, type SuppressionRow } from './suppression-rows.ts'
import { timestampNow, timestampAt, type Timestamp } from '../kernel/values/timestamps.ts'

export interface AddressedContact {
  id: ContactId
  email: string
}

export interface SubscriptionKey {
  listId: ListId
  contactId: ContactId
}

export interface ConsentRecords extends Moments {
  readonly contacts: readonly AddressedContact[]
  readonly mode: LockMode
  readonly hashOf: (email: string) => string
  /** By `keyOf`. */
  readonly rows: Map<string, SuppressionRow>
  /** By `toKey`. */
  readonly subscriptions: Map<string, SubscriptionState>
  /** As they are stored. */
  readonly stored: {
    rows: ReadonlyMap<SuppressionId, SuppressionRow>
    subscriptions: ReadonlyMap<string, SubscriptionState>
  }
}

export const toKey = ({ listId, contactId }: SubscriptionKey) => `${contactId} ${listId}`

interface Locked {
  /** The transaction has locked them. */
  contacts: readonly AddressedContact[]
  /** Further addresses. */
  emails?: readonly string[]
  mode: LockMode
}

/** Locks the addresses of contacts, and further ones, and reads their records. */
export async function lockConsent(ctx: Ctx, { contacts, emails = [], mode }: Locked): Promise<ConsentRecords> {
  const all = [...contacts.map(({ email }) => email), ...emails]
  const moments = await lockAddresses(ctx, all, mode)
  return readConsent(ctx, moments, { contacts, emails, mode })
}

/** Reads the records of addresses that the transaction has locked. */
export async function readConsent(
  ctx: Ctx,
  moments: Moments,
  { contacts, emails = [], mode }: Locked,
): Promise<ConsentRecords> {
  const rows = await readRows(ctx, [...contacts.map(({ email }) => email), ...emails])
  const byKey = new Map<string, SuppressionRow>()
  for (const row of rows) {
    const known = byKey.get(keyOf(row.hashed))
    byKey.set(keyOf(row.hashed), known ? combine(known, row.hashed) : row.hashed)
  }
  const states = await readSubscriptions(
    ctx,
    contacts.map(({ id }) => id),
  )
  const hashes = new Map<string, string>()
  return {
    ...moments,
    contacts,
    mode,
    hashOf(email) {
      const key = emailKey(email)
      const hash = hashes.get(key) ?? hashEmail(ctx, key)
      hashes.set(key, hash)
      return hash
    },
    rows: byKey,
    subscriptions: new Map(states),
    stored: {
      rows: new Map(rows.map(({ stored }) => [stored.id, stored])),
      subscriptions: states,
    },
  }
}

/** The rows of addresses, as stored, and with the hash of the current SECRET_KEY. */
export async function readRows(ctx: Hashing & Pick<Ctx, 'db'>, emails: readonly string[]) {
  if (emails.length === 0 || (emails.length >= manyEmails && !(await hasSuppressions(ctx)))) return []
  const currentOf = mapToCurrentHashes(ctx, emails)
  const found = await ctx.db
    .select()
    .from(suppressions)
    .where(and(eq(suppressions.workspaceId, ctx.workspaceId), isAnyOf(suppressions.emailHash, [...currentOf.keys()])))
    .orderBy(suppressions.createdAt, suppressions.id)
  return found.map((stored) => {
    const emailHash = currentOf.get(stored.emailHash) ?? stored.emailHash
    return { stored, hashed: emailHash === stored.emailHash ? stored : { ...stored, emailHash } }
  })
}

/** Most workspaces have none when they move in. Hashing was 7 % of the worker's time in an import (2026-11-26). */
async function hasSuppressions(ctx: Pick<Ctx, 'db' | 'workspaceId'>): Promise<boolean> {
  const { workspaceId } = suppressions
  const rows = await ctx.db.select({ workspaceId }).from(suppressions).where(eq(workspaceId, ctx.workspaceId)).limit(1)
  return rows.length > 0
}
const manyEmails = 50

async function readSubscriptions(ctx: Ctx, ids: readonly ContactId[]): Promise<Map<string, SubscriptionState>> {
  if (ids.length === 0) return new Map()
  const rows = await ctx.db
    .select()
    .from(subscriptions)
    .where(and(eq(subscriptions.workspaceId, ctx.workspaceId), isAnyOf(subscriptions.contactId, ids)))
  return new Map(rows.map((row) => [toKey(row), row]))
}

/** The suppressions of an address; of one list, together with those for all. In no order; `byStrictness` sorts them. */
export function listRows(records: ConsentRecords, email: string, listId?: ListId): SuppressionRow[] {
  if (records.rows.size === 0) return []
  const hash = records.hashOf(email)
  const covers = listId === undefined ? ({ listId: of }: SuppressionRow) => of === null : coversList(listId)
  return [...records.rows.values()].filter((row) => row.emailHash === hash && covers(row))
}

/** Reads the suppressions of an address, for a question that changes nothing. Default: for all lists. */
export async function readSuppressions(
  ctx: Ctx,
  { email, listId }: { email: string; listId?: ListId | 'any' | undefined },
): Promise<SuppressionRow[]> {
  const rows = (await readRows(ctx, [email])).map(({ hashed }) => hashed)
  if (listId === 'any') return rows
  return rows.filter(listId === undefined ? (row) => row.listId === null : coversList(listId))
}

/** Throws `opted_out` if a suppression forbids mails to an address that the person has not asked for; also for a list, if given. */
export async function requireNotSuppressed(ctx: Ctx, email: string, listId?: ListId): Promise<void> {
  const rows = await readSuppressions(ctx, { email, listId })
  if (rows.length > 0) throw createSuppressedError(rows)
}

export interface GivenSuppression extends Pick<SuppressionRow, 'reason' | 'source'> {
  email: string
  /** Default: for all lists. */
  listId?: ListId | null
  /** The date in a file. Default: now. */
  at?: Timestamp | undefined
  /** Undefined or null keeps the former note. */
  note?: string | null | undefined
  actorId?: string | null
  /** For how long it can be undone. A repetition does not prolong it. Default: not at all. */
  undoableForMs?: number
}

export type SuppressionChange = 'CREATED' | 'UPDATED' | 'UNCHANGED'

/** Adds a suppression, or repeats it. */
export function addSuppression(
  ctx: Ctx,
  records: ConsentRecords,
  { email, listId = null, at, note, actorId = null, undoableForMs, ...of }: GivenSuppression,
): { row: SuppressionRow; change: SuppressionChange } {
  const moment = at ?? records.now
  const added: SuppressionRow = {
    workspaceId: ctx.workspaceId,
    id: newId('sup'),
    emailHash: records.hashOf(email),
    listId,
    ...of,
    actorId,
    note: note ?? null,
    createdAt: records.now,
    firstSaidAt: moment,
    saidAt: moment,
    undoableUntil: undoableForMs === undefined ? null : timestampAt(Date.parse(records.now) + undoableForMs),
    contactId: null,
  }
  const key = keyOf(added)
  const known = records.rows.get(key)
  const repeated = known && repeat(known, moment, at !== undefined)
  const row = !repeated ? added : note && note !== repeated.note ? { ...repeated, note } : repeated
  records.rows.set(key, row)
  return { row, change: known ? (row === known ? 'UNCHANGED' : 'UPDATED') : 'CREATED' }
}

export function removeSuppressions(records: ConsentRecords, rows: readonly SuppressionRow[]): void {
  for (const row of rows) records.rows.delete(keyOf(row))
}

export function setSubscription(records: ConsentRecords, state: SubscriptionState): void {
  records.subscriptions.set(toKey(state), state)
}

export const listSubscriptions = (records: ConsentRecords, contactId: ContactId): SubscriptionState[] =>
  [...records.subscriptions.values()].filter((state) => state.contactId === contactId)

/** A subscription to insert, with the status that it has if nothing is said against it: `deriveStatuses` decides. */
export function newSubscription(
  ctx: Ctx,
  key: SubscriptionKey,
  given: Pick<SubscriptionState, 'ownStatus' | 'ownStatusAt' | 'source'> & Partial<SubscriptionState>,
): SubscriptionState {
  return {
    workspaceId: ctx.workspaceId,
    ...key,
    status: given.ownStatus === 'REMOVED' ? 'UNSUBSCRIBED' : given.ownStatus,
    confirmedAt: null,
    consent: null,
    unsubscribedAt: null,
    createdAt: timestampNow(),
    ...given,
  }
}

/** A contact that leaves a list on which it never was is REMOVED from it. */
export function ensureSubscription(
  ctx: Ctx,
  records: ConsentRecords,
  { listId, contactId, source = null }: { listId: ListId; contactId: ContactId; source?: string | null },
): void {
  const key = { listId, contactId }
  if (records.subscriptions.has(toKey(key))) return
  setSubscription(records, newSubscription(ctx, key, { ownStatus: 'REMOVED', ownStatusAt: records.now, source }))
}
