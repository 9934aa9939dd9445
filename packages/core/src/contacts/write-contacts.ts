/**
 * The one way to write contacts by their keys. Upsert, form, sign-up, batch and import call it with different policies:
 *
 * 1. Lock the contacts that have one of the keys.
 * 2. Decide in memory, by `mergeContact`. Several inputs for one contact take effect in their order.
 * 3. Insert the new contacts and update the changed ones, each in one statement, and emit the events.
 *
 * An insert waits for a concurrent insert of the same key and then inserts nothing. Such a contact is locked and decided
 * again.
 *
 * Locks are taken in this order: the quota, custom fields, known contacts by id, new contacts by email. Two writers can
 * deadlock only if a third one creates a contact between their steps. PostgreSQL then ends one of them, and callers
 * retry it or respond with 503.
 */
import { sql } from 'drizzle-orm'
import { jsonRows } from '../db/json-rows.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { json } from '../db/statements/sql-types.ts'
import { contacts } from '../db/schema/index.ts'
import { emitMany } from '../events/emit.ts'
import { AppError, changedConcurrently } from '../kernel/errors.ts'
import { type ContactId } from '../kernel/ids.ts'
import { readContactQuota } from '../quotas/contact-quota.ts'
import { quotaExceeded } from '../quotas/require-quota.ts'
import type { Ctx } from '../request/context.ts'
import { checkEachCustomValues } from '../custom-fields/check-custom-values.ts'
import { contactCreated, contactUpdated } from './contact-events.ts'
import { type ContactRow, toContact } from './contact-record.ts'
import type { ContactInput } from './contacts.schema.ts'
import { findContactsByEmail, lockContactsByEmail } from './find-contact.ts'
import { type CheckedInput, mergeContact, type MergePolicy, newContact, withTimeOfUpdate } from './merge-contact.ts'

interface WriteOptions {
  /** `keep` leaves existing contacts unchanged. */
  onExisting: MergePolicy | 'keep'
  /** Whether to emit `contact.created` and `contact.updated`. */
  emitsEvents: boolean
  /** Decides without locking or writing contacts. */
  isDryRun?: boolean
}

/** What became of an input, with the contact as it was right after it. */
export type ContactOutcome =
  | { status: 'CREATED' | 'UPDATED' | 'UNCHANGED'; contact: ContactRow }
  | { status: 'REJECTED'; error: AppError }

type KeyedInput = CheckedInput & { email: string }

/** The inputs for one contact with their positions, in order. */
type Group = readonly { index: number; input: KeyedInput }[]

/**
 * Creates and updates contacts by email in the caller's transaction, and locks them until it ends. Returns an outcome
 * for each input, in order: an input that is not valid, or that would exceed a limit or the quota, is rejected and does
 * not affect the others. Throws `unavailable` if concurrent requests keep creating and deleting a contact.
 */
export async function writeContacts(
  ctx: Ctx,
  inputs: readonly ContactInput[],
  options: WriteOptions,
): Promise<ContactOutcome[]> {
  const quota = await readContactQuota(ctx)
  const { checked, rejected } = await checkInputs(ctx, inputs)
  const outcomes = new Map(rejected)
  let groups: Group[] = [...Map.groupBy(checked, ({ input }) => keyOf(input)).values()]
  for (let round = 1; groups.length > 0; round++) {
    if (round > maxRounds) throw changedConcurrently()
    const decisions = await decideGroups(ctx, groups, { options, quota })
    const stored = options.isDryRun ? decisions : await storeDecisions(ctx, decisions, options)
    if (!options.isDryRun) quota.used += stored.filter(isCreation).length
    for (const { results } of stored) for (const [index, outcome] of results) outcomes.set(index, outcome)
    groups = groups.filter((group) => group.some(({ index }) => !outcomes.has(index)))
  }
  return inputs.flatMap((_input, index) => outcomes.get(index) ?? [])
}

const maxRounds = 3

async function checkInputs(ctx: Ctx, inputs: readonly ContactInput[]) {
  const values = await checkEachCustomValues(
    ctx,
    inputs.map(({ customFieldValues = {} }) => customFieldValues),
  )
  const checked: { index: number; input: KeyedInput }[] = []
  const rejected: [number, ContactOutcome][] = []
  for (const [index, input] of inputs.entries()) {
    const customFieldValues = values[index]
    if (customFieldValues instanceof AppError) rejected.push([index, { status: 'REJECTED', error: customFieldValues }])
    else checked.push({ index, input: { ...input, customFieldValues } })
  }
  return { checked, rejected }
}

/** What becomes of the contact of a group. */
interface Decision {
  current: ContactRow | undefined
  /** The contact after all inputs; undefined if none exists and every input is rejected. */
  next: ContactRow | undefined
  /** The outcome of each input, by its position. */
  results: [number, ContactOutcome][]
}

const isCreation = ({ current, next }: Decision) => !current && next !== undefined
const isChange = ({ current, next }: Decision) => current !== undefined && next !== current

interface Rules {
  options: WriteOptions
  quota: { limit: number; used: number }
}

async function decideGroups(ctx: Ctx, groups: readonly Group[], { options, quota }: Rules): Promise<Decision[]> {
  const emails = groups.flatMap(([entry]) => entry?.input.email ?? [])
  const found = await (options.isDryRun ? findContactsByEmail : lockContactsByEmail)(ctx, emails)
  const known = new Map(found.map((contact) => [keyOf(contact), contact]))
  let created = 0
  return groups.map((group) => {
    const current = group[0] && known.get(keyOf(group[0].input))
    const create = (input: KeyedInput) => {
      if (quota.used + created >= quota.limit) throw quotaExceeded('contacts', quota.limit)
      return newContact(ctx.workspaceId, input)
    }
    const decision = applyInputs(current, group, { create, onExisting: options.onExisting })
    if (isCreation(decision)) created += 1
    return decision
  })
}

interface Actions {
  create: (input: KeyedInput) => ContactRow
  onExisting: WriteOptions['onExisting']
}

/** Applies the inputs one after the other to a contact, or to a new one. */
function applyInputs(current: ContactRow | undefined, group: Group, { create, onExisting }: Actions): Decision {
  let next = current
  const apply = (input: KeyedInput): ContactOutcome => {
    const before = next
    if (!before) return { status: 'CREATED', contact: (next = create(input)) }
    // An existing contact keeps the spelling of its email.
    if (onExisting !== 'keep')
      next = withTimeOfUpdate(before, mergeContact(before, { ...input, email: before.email }, onExisting))
    return { status: next === before ? 'UNCHANGED' : 'UPDATED', contact: next ?? before }
  }
  const results = group.map(({ index, input }): [number, ContactOutcome] => {
    try {
      return [index, apply(input)]
    } catch (error) {
      if (error instanceof AppError) return [index, { status: 'REJECTED', error }]
      throw error
    }
  })
  return { current, next, results }
}

/** Returns the decisions that were stored: not those whose contact a concurrent request has created. */
async function storeDecisions(
  ctx: Ctx,
  decisions: readonly Decision[],
  { emitsEvents }: Pick<WriteOptions, 'emitsEvents'>,
): Promise<Decision[]> {
  const inserted = await insertContacts(ctx, rowsOf(decisions.filter(isCreation)))
  const stored = decisions.filter((decision) => !isCreation(decision) || inserted.has(decision.next?.id))
  await saveContacts(ctx, rowsOf(stored.filter(isChange)))
  if (!emitsEvents) return stored
  const results = stored.flatMap((decision) => decision.results).toSorted(([one], [other]) => one - other)
  const contactsWith = (status: ContactOutcome['status']) =>
    results.flatMap(([, outcome]) =>
      'contact' in outcome && outcome.status === status ? [toContact(outcome.contact)] : [],
    )
  await emitMany(ctx, contactCreated, contactsWith('CREATED'))
  await emitMany(ctx, contactUpdated, contactsWith('UPDATED'))
  return stored
}

const rowsOf = (decisions: readonly Decision[]) => decisions.flatMap(({ next }) => next ?? [])
const keyOf = ({ email }: { email: string }) => email.toLowerCase()

const rows = jsonRows(contacts)

/** Inserts the contacts whose keys are free, and returns the ids of these. */
async function insertContacts(ctx: Ctx, created: readonly ContactRow[]): Promise<Set<ContactId | undefined>> {
  if (created.length === 0) return new Set()
  const inserted = await insertRows(ctx.db, { given: rows.stringify(created) })
  return new Set(inserted.map(({ id }) => id))
}

const insertRows = namedStatement('insert several contacts', {
  isPrepared: true,
  params: { given: json<string>() },
  columns: { id: contacts.id },
  sql: ({ given }) => sql`
    insert into contacts (${rows.names}) select ${rows.names} from ${rows.from(given, 'p')}
    -- One order for all writers: two statements that insert the same emails cannot deadlock.
    order by lower(email)
    on conflict do nothing
    returning id`,
})

/** Writes all columns of contacts that the transaction has locked. */
async function saveContacts(ctx: Ctx, saved: readonly ContactRow[]): Promise<void> {
  if (saved.length === 0) return
  await updateRows(ctx.db, { workspaceId: ctx.workspaceId, given: rows.stringify(saved) })
}

const updateRows = namedStatement('update several contacts', {
  isPrepared: true,
  params: { workspaceId: contacts.workspaceId, given: json<string>() },
  sql: ({ workspaceId, given }) => sql`
    update contacts c set ${rows.assignments('p')} from ${rows.from(given, 'p')}
    where c.workspace_id = ${workspaceId} and c.id = p.id`,
})
