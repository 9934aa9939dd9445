/**
 * The one writer of subscriptions and suppressions, last in a transaction: it writes what a verb has changed, derives
 * `status`, and emits the events, unless the verb says that it emits none. They follow from the stored and the new
 * records, and from nothing else:
 *
 * | event                     | when                                                                                       |
 * | ------------------------- | ------------------------------------------------------------------------------------------ |
 * | subscription.unsubscribed | the status becomes UNSUBSCRIBED, BOUNCED or COMPLAINED and was neither the same nor COMPLAINED |
 * | subscription.created      | the own status was none or REMOVED and is PENDING or CONFIRMED, or the status becomes PENDING |
 * | subscription.confirmed    | the status becomes CONFIRMED                                                               |
 *
 * A new sign-up that an opt-out ends from its start is only created. One that a merge moves only ends, unless its own
 * status changes.
 */
import { isDeepStrictEqual } from 'node:util'
import { and, eq, inArray, or, sql } from 'drizzle-orm'
import { jsonRows } from '../db/json-rows.ts'
import { contacts, subscriptions, suppressions } from '../db/schema/index.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, text } from '../db/statements/sql-types.ts'
import { emitMany } from '../events/emit.ts'
import type { ContactId, SuppressionId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { type AddressedContact, type ConsentRecords, toKey } from './consent-records.ts'
import { keepLists } from './keep-lists.ts'
import { deriveStatus, isOpen, type SubscriptionState } from './derive-status.ts'
import { recordSubscriptionActivity, refreshSubscribedStatus } from './subscribed-status.ts'
import { subscriptionConfirmed, subscriptionCreated, subscriptionUnsubscribed } from './subscription-events.ts'
import { toSubscription } from './subscription-record.ts'
import type { SuppressionRow } from './suppression-rows.ts'

interface Options {
  /** The ended subscriptions that may open. All others can only end. */
  widens?: (state: SubscriptionState) => boolean
  /** Default: true. */
  emitsEvents?: boolean
  /** Whether it is an activity of the contacts. Default: true. */
  isActivity?: boolean
  /** By `toKey`: moved by a merge from another contact, whose status they had. They only emit that they end. */
  moved?: ReadonlyMap<string, SubscriptionState>
}

interface Change {
  before: SubscriptionState | undefined
  after: SubscriptionState
}

/** Returns the subscriptions that changed, and the contacts of which anything did. */
export async function deriveStatuses(
  ctx: Ctx,
  records: ConsentRecords,
  { widens = () => false, emitsEvents = true, isActivity = true, moved = new Map() }: Options = {},
): Promise<{ changes: Change[]; changedIds: Set<ContactId> }> {
  const seen = seeContacts(records)
  const dirty = await saveSuppressions(ctx, records)
  const saved = new Set(dirty.map(({ id }) => id))
  await linkContacts(
    ctx,
    seen.filter(({ id }) => !saved.has(id)),
  )
  const changes = listChanges(records, moved, widens)
  await saveSubscriptions(
    ctx,
    changes.map(({ after }) => after),
  )
  const changedHashes = new Set(dirty.map(({ emailHash }) => emailHash))
  const formerIds = new Set(dirty.map(({ id }) => records.stored.rows.get(id)?.contactId))
  const isTouched = ({ id, email }: AddressedContact) => formerIds.has(id) || changedHashes.has(records.hashOf(email))
  const touched = dirty.length === 0 ? [] : records.contacts.filter(isTouched)
  const changedIds = new Set([
    ...changes.map(({ after }) => after.contactId),
    ...touched.map(({ id }) => id),
    ...seen.map(({ contactId }) => contactId),
  ])
  if (changedIds.size > 0)
    await (isActivity ? recordSubscriptionActivity : refreshSubscribedStatus)(ctx, [...changedIds])
  if (emitsEvents) await emitChanges(ctx, changes, moved)
  return { changes, changedIds }
}

function listChanges(
  records: ConsentRecords,
  moved: ReadonlyMap<string, SubscriptionState>,
  widens: (state: SubscriptionState) => boolean,
): Change[] {
  const emailOf = new Map(records.contacts.map(({ id, email }) => [id, email]))
  const storedRows = [...records.stored.rows.values()]
  const withdrawn = listWithdrawn(records)
  // Of several contacts, it is unknown which had an address.
  const isOnePerson = records.contacts.length === 1
  const byHash = Map.groupBy(records.rows.values(), ({ emailHash }) => emailHash)
  const changes: Change[] = []
  for (const state of records.subscriptions.values()) {
    const stored = records.stored.subscriptions.get(toKey(state))
    const email = emailOf.get(state.contactId)
    const rows = email === undefined || byHash.size === 0 ? [] : (byHash.get(records.hashOf(email)) ?? [])
    const before = moved.get(toKey(state)) ?? stored
    const base = before ? { ...state, status: before.status, unsubscribedAt: before.unsubscribedAt } : toNew(state)
    const known = isOnePerson ? storedRows : rows.flatMap(({ id }) => records.stored.rows.get(id) ?? [])
    const former = [...withdrawn, ...known]
    const wasRemoved = before !== undefined && isBackFromRemoval(before, state)
    const isNamed = !before || widens(base)
    const after = { ...state, ...deriveStatus(base, { rows, withdrawn, former, wasRemoved, isNamed }) }
    if (state !== stored || after.status !== stored?.status || after.unsubscribedAt !== stored.unsubscribedAt)
      changes.push({ before, after })
  }
  return changes.toSorted((one, other) => (toKey(one.after) < toKey(other.after) ? -1 : 1))
}

/** A removal may have dated the ending, and a later one not: its own moment does not tell. */
const isBackFromRemoval = (before: SubscriptionState, { ownStatus }: SubscriptionState) =>
  before.ownStatus === 'REMOVED' && ownStatus !== 'REMOVED'

/** As if it were open: any suppression ends it. */
const toNew = (state: SubscriptionState): SubscriptionState => ({
  ...state,
  status: state.ownStatus === 'REMOVED' ? 'PENDING' : state.ownStatus,
  unsubscribedAt: null,
})

async function emitChanges(
  ctx: Ctx,
  changes: readonly Change[],
  moved: ReadonlyMap<string, SubscriptionState>,
): Promise<void> {
  const toRecords = (chosen: readonly Change[]) => chosen.map(({ after }) => toSubscription(after))
  await emitMany(ctx, subscriptionUnsubscribed, toRecords(changes.filter(hasEnded)))
  const own = changes.filter(({ before, after }) => !moved.has(toKey(after)) || before?.ownStatus !== after.ownStatus)
  await emitMany(ctx, subscriptionCreated, toRecords(own.filter(isCreated)))
  await emitMany(ctx, subscriptionConfirmed, toRecords(own.filter(isConfirmed)))
}

/** A sign-up that an opt-out covers from its start has not ended. */
export function hasEnded({ before, after }: Change): boolean {
  if (isOpen(after) || before?.status === after.status || before?.status === 'COMPLAINED') return false
  return before !== undefined || after.ownStatus === 'REMOVED'
}

function isCreated({ before, after }: Change): boolean {
  const wasNone = !before || before.ownStatus === 'REMOVED'
  return (wasNone && after.ownStatus !== 'REMOVED') || (after.status === 'PENDING' && before?.status !== 'PENDING')
}

const isConfirmed = ({ before, after }: Change) => after.status === 'CONFIRMED' && before?.status !== 'CONFIRMED'

/** The rows at the present address of a contact that name another contact, or none. */
function seeContacts({ contacts: known, rows, hashOf }: ConsentRecords): { id: SuppressionId; contactId: ContactId }[] {
  if (rows.size === 0) return []
  const idOfHash = new Map(known.map(({ id, email }) => [hashOf(email), id]))
  const seen: { id: SuppressionId; contactId: ContactId }[] = []
  for (const [key, row] of rows) {
    const contactId = idOfHash.get(row.emailHash)
    if (!contactId || row.contactId === contactId) continue
    seen.push({ id: row.id, contactId })
    rows.set(key, { ...row, contactId })
  }
  return seen
}

/**
 * Writes the rows that changed, also those that a former SECRET_KEY has hashed, but for a list that was deleted meanwhile.
 * Returns them, and those taken back.
 */
async function saveSuppressions(ctx: Ctx, records: ConsentRecords): Promise<SuppressionRow[]> {
  if (records.mode === 'shared') return []
  const withdrawn = listWithdrawn(records)
  const next = [...records.rows.values()].filter((row) => !isSame(row, records.stored.rows.get(row.id)))
  const lists = await keepLists(
    ctx,
    next.flatMap(({ listId }) => listId ?? []),
  )
  const changed = next.filter(({ listId }) => listId === null || lists.has(listId))
  if (withdrawn.length > 0)
    await deleteRows(ctx.db, { workspaceId: ctx.workspaceId, ids: withdrawn.map(({ id }) => id) })
  if (changed.length > 0) await upsertRows(ctx.db, { rows: suppressionRows.stringify(changed) })
  return [...withdrawn, ...changed]
}

/** The stored rows that the verb has removed, and those that were combined with another row. */
function listWithdrawn({ rows, stored }: ConsentRecords): SuppressionRow[] {
  const current = new Set([...rows.values()].map(({ id }) => id))
  return [...stored.rows.values()].filter(({ id }) => !current.has(id))
}

/** A row that differs only by the contact seen at its address is left to `linkContacts`, under any lock. */
function isSame(row: SuppressionRow, stored: SuppressionRow | undefined): boolean {
  if (!stored || (row.contactId === null && stored.contactId !== null)) return false
  return row === stored || isDeepStrictEqual({ ...row, contactId: null }, { ...stored, contactId: null })
}

async function linkContacts(ctx: Ctx, seen: readonly { id: SuppressionId; contactId: ContactId }[]): Promise<void> {
  if (seen.length === 0) return
  const { workspaceId } = ctx
  await link(ctx.db, { workspaceId, ids: seen.map(({ id }) => id), contactIds: seen.map((one) => one.contactId) })
}

const link = namedStatement('link suppressions to contacts', {
  params: {
    workspaceId: suppressions.workspaceId,
    ids: arrayOf(suppressions.id),
    contactIds: arrayOf(contacts.id),
  },
  sql: ({ workspaceId, ids, contactIds }) => sql`
    update suppressions s set contact_id = given.contact_id
    from unnest(${ids}, ${contactIds}) as given (id, contact_id)
    where s.workspace_id = ${workspaceId} and s.id = given.id`,
})

const deleteRows = namedStatement('remove suppressions', {
  params: { workspaceId: suppressions.workspaceId, ids: arrayOf(suppressions.id) },
  sql: ({ workspaceId, ids }) => sql`
    delete from suppressions where workspace_id = ${workspaceId} and id = any(${ids})`,
})

/** Deletes a bounce or a block of an address that no contact is known to have: nothing follows. */
export async function deleteSuppression(ctx: Ctx, id: SuppressionId): Promise<void> {
  await deleteRows(ctx.db, { workspaceId: ctx.workspaceId, ids: [id] })
}

interface Forgotten {
  contactIds: ContactId[]
  /** With all keys: a statement at the address need not name the contact. */
  emailHashes: string[]
}

/**
 * Removes a person from suppressions: notes may be about it. Its rows with the hash of a lost SECRET_KEY are found by the
 * contact that they name.
 */
export async function forgetPerson(ctx: Ctx, { contactIds, emailHashes }: Forgotten): Promise<void> {
  const isOfPerson = or(inArray(suppressions.contactId, contactIds), inArray(suppressions.emailHash, emailHashes))
  await ctx.db
    .update(suppressions)
    .set({ contactId: null, note: null })
    .where(and(eq(suppressions.workspaceId, ctx.workspaceId), isOfPerson))
}

const suppressionRows = jsonRows(suppressions)
const upsertRows = namedStatement('save suppressions', {
  params: { rows: text },
  sql: ({ rows }) => sql`
    insert into suppressions (${suppressionRows.names})
    select ${suppressionRows.names} from ${suppressionRows.from(rows, 'p')}
    on conflict (workspace_id, id) do update
    set email_hash = excluded.email_hash, note = excluded.note, first_said_at = excluded.first_said_at,
      said_at = excluded.said_at, undoable_until = excluded.undoable_until, contact_id = excluded.contact_id`,
})

async function saveSubscriptions(ctx: Ctx, saved: readonly SubscriptionState[]): Promise<void> {
  if (saved.length > 0) await upsertSubscriptions(ctx.db, { rows: subscriptionRows.stringify(saved) })
}

const subscriptionRows = jsonRows(subscriptions)
const upsertSubscriptions = namedStatement('save subscriptions', {
  params: { rows: text },
  sql: ({ rows }) => sql`
    insert into subscriptions (${subscriptionRows.names})
    select ${subscriptionRows.names} from ${subscriptionRows.from(rows, 'p')}
    on conflict (workspace_id, list_id, contact_id) do update
    set status = excluded.status, own_status = excluded.own_status, own_status_at = excluded.own_status_at,
      source = excluded.source, confirmed_at = excluded.confirmed_at, consent = excluded.consent,
      unsubscribed_at = excluded.unsubscribed_at`,
})
