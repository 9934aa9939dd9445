import { isDatabaseUnavailable, isRowSpecificError } from '../../db/database-errors.ts'
import { type AppError, invalidFields, type Issue, limitIssues } from '../../kernel/errors.ts'
import { emailKey } from '../../kernel/values/email-key.ts'
import { parseLenient } from '../../request/parse-lenient.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { toContact } from '../contact-record.ts'
import { Contact, ContactInput } from '../contacts.schema.ts'
import { keyTaken, lockKnownContacts } from '../find-contact.ts'
import { groupByContact } from '../identity/contact-index.ts'
import { mergePolicies } from '../merge-contact.ts'
import { type ContactOutcome, writeContacts } from '../write-contacts.ts'
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
    const { data: input, error } = parseLenient(ContactInput, contact)
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
    return new Map([[first.index, unstorableEntry]])
  }
}

/** Takes locks in the order of `writeContacts`, which prevents deadlocks. Entries for one contact stay in order. */
async function writeSeparately(ctx: Ctx, batch: Batch): Promise<Results> {
  const results: Results = new Map()
  const known = await lockKnownContacts(
    ctx,
    batch.entries.map(({ input }) => input),
  )
  const groups = groupByContact(batch.entries, known)
  const sorted = groups.toSorted(([a], [b]) => (emailOf(a) < emailOf(b) ? -1 : Number(emailOf(a) > emailOf(b))))
  for (const entry of sorted.flat())
    for (const [index, result] of await writeEntries(ctx, { ...batch, entries: [entry] })) results.set(index, result)
  return results
}

async function writeTogether(ctx: Ctx, entries: readonly Entry[], onConflict: OnConflict): Promise<Results> {
  const inputs = entries.map(({ input }) => input)
  const onExisting = onConflict === 'update' ? mergePolicies.update : 'keep'
  const outcomes = await writeContacts(ctx, inputs, { onExisting, emitsEvents: true })
  return new Map(
    entries.flatMap(({ index }, position) => {
      const outcome = outcomes[position]
      return outcome ? [[index, toResult(outcome, onConflict)]] : []
    }),
  )
}

function toResult(outcome: ContactOutcome, onConflict: OnConflict): ContactBatchResult {
  if (outcome.status === 'REJECTED') return rejectedEntry(outcome.error)
  const { contact, matchedBy } = outcome
  const isExisting = outcome.status !== 'CREATED'
  if (isExisting && onConflict === 'fail') return rejectedEntry(keyTaken(matchedBy, contact.id))
  const status = isExisting && onConflict === 'skip' ? 'SKIPPED' : outcome.status
  return { status, contact: toContact(contact) }
}

function invalidEntry(issues: Issue[]): ContactBatchFailure {
  return { status: 'FAILED', code: 'validation_error', message: invalidFields(issues).message, issues }
}

function rejectedEntry({ code, message, issues, details }: AppError): ContactBatchFailure {
  if (code === 'validation_error') return { status: 'FAILED', code, message, issues: issues?.slice() ?? [] }
  if (code === 'already_exists' || code === 'identity_conflict')
    return { status: 'FAILED', code, message, ...(issues && { issues: issues.slice() }), ...details }
  if (code === 'quota_exceeded') return { status: 'FAILED', code, message }
  return unstorableEntry
}

const unstorableEntry: ContactBatchFailure = {
  status: 'FAILED',
  code: 'internal_error',
  message: 'The contact cannot be stored',
}

const emailOf = (entry?: Entry) => emailKey(entry?.input.email ?? '')
