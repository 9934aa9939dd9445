import type { ContactRow } from '../../contacts/contact-record.ts'
import { emailKey } from '../../contacts/identity/contact-keys.ts'
import { mergePolicies } from '../../contacts/merge-contact.ts'
import { type ContactOutcome, writeContacts } from '../../contacts/write-contacts.ts'
import type { AppError } from '../../kernel/errors.ts'
import type { ListId } from '../../kernel/ids.ts'
import { addUnconfirmed, type UnconfirmedSubscription } from '../../lists/bulk-opt-outs.ts'
import { type ConsentingContact, confirmSubscribers } from '../../lists/bulk-subscribe-contacts.ts'
import type { Ctx } from '../../request/context.ts'
import { findSuppressions } from '../../subscriptions/find-suppressions.ts'
import { linkSuppressions } from '../../subscriptions/store-suppressions.ts'
import { recordSubscriptionActivity } from '../../subscriptions/subscribed-status.ts'
import { isConfirmation, isOptOut, isPending } from '../rows/file-status.ts'
import type { ClaimedImport } from '../import-claim.ts'
import { type ImportRow, type RowError, toRowError } from '../rows/import-rows.ts'
import type { ImportRecord } from '../import-record.ts'
import { findOptOutKeys } from './opt-out-keys.ts'
import { applyOptOuts } from './record-opt-outs.ts'
import type { RowStatus } from '../rows/row-status.ts'
import type { WrittenRows } from './write-chunk.ts'

type ValidRow = Extract<ImportRow, { contact: unknown }>

/** A row and the contact that it is about. */
interface Person {
  row: ValidRow
  contact: ContactRow
  isNew: boolean
}

/** Writes the contacts of rows, and what the rows say about their subscriptions. */
export async function writeContactRows(
  ctx: Ctx,
  claimed: ClaimedImport,
  rows: readonly ImportRow[],
): Promise<WrittenRows> {
  const { id, actorId, onConflict, eachEvent, dryRun } = claimed
  const valid = rows.filter((row) => 'contact' in row)
  const outcomes = await writeContacts(
    ctx,
    valid.map(({ contact }) => contact),
    {
      onExisting: onConflict === 'update' ? mergePolicies.import : 'keep',
      emitsEvents: eachEvent,
      reportedBy: { importId: id, actorId },
      isDryRun: dryRun,
    },
  )
  const rejected = valid.flatMap(({ line }, index) => {
    const outcome = outcomes[index]
    return outcome?.status === 'REJECTED' ? [toRejectedRow(line, outcome.error)] : []
  })
  const people = toPeople(valid, outcomes)
  const count = (status: ContactOutcome['status']) => outcomes.filter((outcome) => outcome.status === status).length
  return {
    failed: [...rows.filter((row) => 'message' in row), ...rejected].toSorted((a, b) => a.line - b.line),
    counts: {
      created: count('CREATED'),
      updated: count('UPDATED'),
      skipped: count('UNCHANGED'),
      confirmed: await subscribe(ctx, claimed, people),
      suppressed: 0,
    },
  }
}

/** With each contact as it is after the last row: a later row may have changed its address. */
function toPeople(rows: readonly ValidRow[], outcomes: readonly ContactOutcome[]): Person[] {
  const written = rows.flatMap((row, index) => {
    const outcome = outcomes[index]
    return outcome && 'contact' in outcome ? [{ row, outcome }] : []
  })
  const last = new Map(written.map(({ outcome: { contact } }) => [contact.id, contact]))
  return written.map(({ row, outcome: { status, contact } }) => ({
    row,
    contact: last.get(contact.id) ?? contact,
    isNew: status === 'CREATED',
  }))
}

/** Returns the number of rows whose contact is confirmed on the list. */
async function subscribe(ctx: Ctx, claimed: ClaimedImport, people: readonly Person[]): Promise<number> {
  const { listId, dryRun } = claimed
  if (!dryRun) await followOptOuts(ctx, claimed, people)
  if (!listId) return 0
  const optsOut = await createOptOutCheck(ctx, claimed, people)
  const consenting = people.filter((one) => isConfirmation(statusesOf(one)) && isAddressOf(one) && !optsOut(one))
  const confirmed = await confirmPeople(ctx, { ...claimed, listId }, consenting)
  if (!dryRun)
    await addSubscriptions(
      ctx,
      { ...claimed, listId },
      people.filter((one) => !isPending(statusesOf(one)) || !optsOut(one)),
    )
  return confirmed
}

const statusesOf = ({ row }: Person) => row.status?.statuses ?? []

/** With `onConflict=skip`, a contact that its external id finds keeps its address: the row consents for another one. */
const isAddressOf = ({ row, contact }: Person) =>
  row.contact.email === undefined || emailKey(row.contact.email) === emailKey(contact.email)

/** Whether any row of the file says that the person opts out, by the keys of the row or of the contact. */
async function createOptOutCheck(ctx: Ctx, claimed: ClaimedImport, people: readonly Person[]) {
  if (claimed.optedOut + claimed.suppressed === 0) return () => false
  const keysOf = ({ row, contact }: Person) => [row.contact, contact]
  const isOptedOut = await findOptOutKeys(ctx, claimed.id, people.flatMap(keysOf))
  return (person: Person) => keysOf(person).some(isOptedOut)
}

interface ImportOfList extends ClaimedImport {
  listId: ListId
}

async function confirmPeople(ctx: Ctx, claimed: ImportOfList, people: readonly Person[]): Promise<number> {
  const { id, actorId, listId, eachEvent, dryRun } = claimed
  const contacts = new Map<string, ConsentingContact>()
  for (const { row, contact } of people) {
    const reported = toReportedConsent(row.status) ?? contacts.get(contact.id)?.reported
    contacts.set(contact.id, { id: contact.id, email: contact.email, reported })
  }
  const subscribed = await confirmSubscribers(ctx, {
    listId,
    contacts: [...contacts.values()],
    reportedBy: { importId: id, actorId },
    emitsEvents: eachEvent,
    isDryRun: dryRun,
  })
  return people.filter(({ contact }) => subscribed.has(contact.id)).length
}

const toReportedConsent = (status: RowStatus | undefined) =>
  status?.confirmedAt || status?.optInAddress ? { at: status.confirmedAt, address: status.optInAddress } : undefined

/** Adds PENDING and UNSUBSCRIBED subscriptions for contacts that have none. */
async function addSubscriptions(ctx: Ctx, { listId, eachEvent }: ImportOfList, people: readonly Person[]) {
  const unconfirmed = people.flatMap((person): (UnconfirmedSubscription & { email: string })[] => {
    const { contact, row } = person
    const status = toUnconfirmedStatus(person)
    const unsubscribedAt = row.status?.unsubscribedAt ?? null
    return status && isAddressOf(person)
      ? [{ contactId: contact.id, email: contact.email, status, unsubscribedAt }]
      : []
  })
  if (unconfirmed.length === 0) return
  const suppressed = await findSuppressions(ctx, { listId, emails: unconfirmed.map(({ email }) => email) })
  const shown = unconfirmed.filter(({ email, status }) => suppressed.has(email) === (status === 'UNSUBSCRIBED'))
  const first = new Map(shown.toReversed().map((one) => [one.contactId, one]))
  await addUnconfirmed(ctx, [...first.values()], { listId, emitsEvents: eachEvent })
}

function toUnconfirmedStatus(person: Person): UnconfirmedSubscription['status'] | undefined {
  if (statusesOf(person).includes('UNSUBSCRIBED')) return 'UNSUBSCRIBED'
  return isPending(statusesOf(person)) ? 'PENDING' : undefined
}

/**
 * Makes contacts follow the opt-outs of their rows that the first pass could not apply to them: a new contact shows what
 * stands against its address, and what the person said holds for the address that their contact has kept.
 */
async function followOptOuts(ctx: Ctx, claimed: ImportRecord, people: readonly Person[]): Promise<void> {
  const optedOut = people.filter((person) => statusesOf(person).some(isOptOut))
  const kept = optedOut.filter((person) => person.row.contact.email === undefined || !isAddressOf(person))
  const rows = kept.map(({ row: { contact: given, status }, contact }) => ({
    email: contact.email,
    externalId: undefined,
    // A bounce concerns the address of the row alone.
    statuses: (status?.statuses ?? []).filter(isOptOut).filter((one) => one !== 'BOUNCED' || given.email === undefined),
    at: status?.unsubscribedAt,
  }))
  if (rows.length > 0) await applyOptOuts(ctx, claimed, rows)
  const created = people.filter(({ isNew }) => isNew).map(({ contact }) => contact)
  const linked = await linkSuppressions(ctx, created)
  if (linked.length > 0) await recordSubscriptionActivity(ctx, linked)
}

function toRejectedRow(line: number, { message, issues }: AppError): RowError {
  return issues ? toRowError(line, issues) : { line, column: null, message }
}
