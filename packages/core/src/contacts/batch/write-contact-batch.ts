import { emitMany } from '../../events/emit.ts'
import { isDatabaseUnavailable, isRowSpecificError } from '../../db/database-errors.ts'
import { invalidField, invalidFields, type Issue, limitIssues } from '../../kernel/errors.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { saveContacts, writeContacts } from '../bulk-write-contacts.ts'
import { findContactsByEmail } from '../contact-address.ts'
import { contactCreated, contactUpdated } from '../contact-events.ts'
import { type ContactRow, toContact } from '../contact-record.ts'
import { Contact, ContactInput } from '../contacts.schema.ts'
import {
  customValuesTooLarge,
  exceedsCustomValueSize,
  lockCustomFields,
  mergeCustomValues,
  parseCustomValues,
  readCustomFieldKeys,
} from '../../custom-fields/custom-fields.ts'
import { type CheckedChange, mergeChange, withTimeOfUpdate } from '../update-contact.ts'
import type {
  ContactBatch,
  ContactBatchFailure,
  ContactBatchResult,
  ContactBatchResults,
} from './contact-batch.schema.ts'

type OnConflict = ContactBatch['onConflict']

interface Batch {
  entries: readonly Entry[]
  onConflict: OnConflict
  /** Receives an error of the database that is no fault of the client. */
  reportError: (error: unknown) => void
}
interface Entry {
  index: number
  input: ContactInput
}
interface CheckedEntry {
  index: number
  input: CheckedChange & { email: string }
}

/** The results by the index of the entry. */
type Results = Map<number, ContactBatchResult>

/**
 * Creates or updates contacts in one transaction, and emits an event for each. An entry that fails does not affect the
 * others; entries with the same email take effect one after the other. If the database is unavailable or a lock takes
 * too long, nothing is written.
 */
export async function writeContactBatch(
  ctx: Ctx,
  { contacts, onConflict }: ContactBatch,
  reportError: Batch['reportError'],
): Promise<ContactBatchResults> {
  const results: Results = new Map()
  const entries: Entry[] = []
  for (const [index, contact] of contacts.entries()) {
    const { data: input, error } = ContactInput.safeParse(contact)
    if (error) results.set(index, invalidEntry(limitIssues(toIssues(error, Object.keys(Contact.shape)))))
    else entries.push({ index, input })
  }
  const written = await writeEntries(ctx, { entries, onConflict, reportError })
  for (const [index, result] of written) results.set(index, result)
  return { results: contacts.flatMap((_contact, index) => results.get(index) ?? []) }
}

/** Writes all entries together, or each in its own savepoint if the database rejects one of them. */
async function writeEntries(ctx: Ctx, batch: Batch): Promise<Results> {
  const { entries, onConflict, reportError } = batch
  try {
    return await inTransaction(ctx, (ctx) => writeTogether(ctx, entries, onConflict))
  } catch (error) {
    // A lock that takes too long fails the request: waiting again for each entry would take up to a hundred times as
    // long.
    if (!isRowSpecificError(error) || isDatabaseUnavailable(error)) throw error
    const [first] = entries
    if (!first || entries.length > 1) return inTransaction(ctx, (ctx) => writeSeparately(ctx, batch))
    reportError(error)
    return new Map([[first.index, rejectedEntry]])
  }
}

/** In order of email, like all bulk writers, which prevents deadlocks. Entries with the same email stay in order. */
async function writeSeparately(ctx: Ctx, batch: Batch): Promise<Results> {
  const results: Results = new Map()
  const sorted = batch.entries.toSorted((a, b) => (emailOf(a) < emailOf(b) ? -1 : Number(emailOf(a) > emailOf(b))))
  for (const entry of sorted)
    for (const [index, result] of await writeEntries(ctx, { ...batch, entries: [entry] })) results.set(index, result)
  return results
}

/** Writes in rounds in which each email occurs once. */
async function writeTogether(ctx: Ctx, entries: readonly Entry[], onConflict: OnConflict): Promise<Results> {
  const { checked, results } = await checkCustomFieldValues(ctx, entries)
  for (let pending = checked; pending.length > 0; pending = pending.filter(({ index }) => !results.has(index))) {
    const firstOfEachEmail = [...Map.groupBy(pending, emailOf).values()].flatMap((entries) => entries.slice(0, 1))
    const round = await writeRound(ctx, firstOfEachEmail, onConflict)
    for (const [index, result] of round) results.set(index, result)
  }
  return results
}

/** Only so many entries get suggestions for unknown custom fields, because each of them costs time. */
const maxSuggestedEntries = 5

async function checkCustomFieldValues(
  ctx: Ctx,
  entries: readonly Entry[],
): Promise<{ checked: CheckedEntry[]; results: Results }> {
  const keys = [...new Set(entries.flatMap(({ input }) => Object.keys(input.customFieldValues ?? {})))]
  const fields = await lockCustomFields(ctx, keys)
  const suggestions = keys.some((key) => !fields.has(key)) ? await readCustomFieldKeys(ctx) : []
  const checked: CheckedEntry[] = []
  const results: Results = new Map()
  for (const { index, input } of entries) {
    const isSuggesting = results.size < maxSuggestedEntries
    const { values, issues } = parseCustomValues(fields, input.customFieldValues ?? {}, isSuggesting ? suggestions : [])
    if (issues.length > 0) results.set(index, invalidEntry(issues))
    else checked.push({ index, input: { ...input, customFieldValues: values } })
  }
  const tooLarge = await findTooLargeNew(ctx, checked)
  for (const { index } of tooLarge) results.set(index, tooLargeEntry)
  return { checked: checked.filter(({ index }) => !results.has(index)), results }
}

/** Finds the entries of new contacts that have too many custom values. */
async function findTooLargeNew(ctx: Ctx, entries: readonly CheckedEntry[]): Promise<CheckedEntry[]> {
  const tooLarge = entries.filter(({ input }) => exceedsCustomValueSize(mergeCustomValues({}, input.customFieldValues)))
  if (tooLarge.length === 0) return []
  const known = byEmail(await findContactsByEmail(ctx, tooLarge.map(emailOf)))
  return tooLarge.filter((entry) => !known.has(emailOf(entry)))
}

/**
 * Writes entries with different emails. An entry has no result if another transaction deleted its contact in the
 * meantime: the next round writes it.
 */
async function writeRound(ctx: Ctx, entries: readonly CheckedEntry[], onConflict: OnConflict): Promise<Results> {
  const inputs = entries.map(({ input }) => ({
    ...input,
    customFieldValues: mergeCustomValues({}, input.customFieldValues),
  }))
  const { created, exceeding } = await writeContacts(ctx, inputs, onConflict === 'update' ? 'lock' : 'skip')
  await emitMany(ctx, contactCreated, created.map(toContact))
  const createdContacts = byEmail(created)
  const conflicts = entries.filter((entry) => !createdContacts.has(emailOf(entry)))
  const found = byEmail(await findContactsByEmail(ctx, conflicts.map(emailOf)))
  const exceedingEntries = entries.filter(({ input }) => exceeding.has(input.email))
  const results: Results = new Map(exceedingEntries.map(({ index }) => [index, exceedingEntry]))
  if (onConflict === 'update') {
    for (const entry of conflicts) if (isTooLarge(entry, found)) results.set(entry.index, tooLargeEntry)
  }
  const writable = conflicts.filter(({ index }) => !results.has(index))
  const existing = onConflict === 'update' ? await updateExisting(ctx, writable, found) : found
  for (const entry of entries) {
    if (results.has(entry.index)) continue
    const email = emailOf(entry)
    const [contact, other] = [createdContacts.get(email), existing.get(email)]
    if (contact) results.set(entry.index, { status: 'CREATED', contact: toContact(contact) })
    else if (other) results.set(entry.index, onConflictResult(onConflict, other))
  }
  return results
}

/** Whether the entry and the contact that it updates have too many custom values together. */
function isTooLarge({ input }: CheckedEntry, contacts: ReadonlyMap<string, ContactRow>): boolean {
  const current = contacts.get(emailOf({ input }))?.customFieldValues
  return current !== undefined && exceedsCustomValueSize(mergeCustomValues(current, input.customFieldValues), current)
}

/** Updates the locked contacts of the entries, and returns them by email. An unchanged contact emits no event. */
async function updateExisting(
  ctx: Ctx,
  entries: readonly CheckedEntry[],
  contacts: ReadonlyMap<string, ContactRow>,
): Promise<Map<string, ContactRow>> {
  const updated = new Map(contacts)
  const changed: ContactRow[] = []
  for (const entry of entries) {
    const current = contacts.get(emailOf(entry))
    if (!current) continue
    const next = withTimeOfUpdate(current, mergeChange(current, { ...entry.input, email: current.email }))
    if (next !== current) changed.push(next)
    updated.set(emailOf(entry), next)
  }
  await saveContacts(ctx, changed)
  await emitMany(ctx, contactUpdated, changed.map(toContact))
  return updated
}

function onConflictResult(onConflict: OnConflict, contact: ContactRow): ContactBatchResult {
  if (onConflict === 'fail')
    return { status: 'FAILED', code: 'already_exists', message: 'Contact already exists', contactId: contact.id }
  return { status: onConflict === 'skip' ? 'SKIPPED' : 'UPDATED', contact: toContact(contact) }
}

function invalidEntry(issues: Issue[]): ContactBatchFailure {
  return { status: 'FAILED', code: 'validation_error', message: invalidFields(issues).message, issues }
}

const rejectedEntry: ContactBatchFailure = {
  status: 'FAILED',
  code: 'internal_error',
  message: 'The contact cannot be stored',
}

const exceedingEntry: ContactBatchFailure = {
  status: 'FAILED',
  code: 'quota_exceeded',
  message: 'The workspace has the maximum number of contacts',
}

const tooLargeEntry: ContactBatchFailure = {
  status: 'FAILED',
  code: 'validation_error',
  message: customValuesTooLarge,
  issues: invalidField('customFieldValues', customValuesTooLarge).issues?.slice() ?? [],
}

const emailOf = ({ input }: { input: { email: string } }) => input.email.toLowerCase()
const byEmail = (contacts: readonly ContactRow[]) =>
  new Map(contacts.map((contact) => [contact.email.toLowerCase(), contact]))
