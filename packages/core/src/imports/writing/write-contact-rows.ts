/** Writes the contacts of rows, and what the rows say about their subscriptions. */
import type { ContactRow } from '../../contacts/contact-record.ts'
import { mergePolicies } from '../../contacts/merge-contact.ts'
import { type ContactOutcome, writeContacts } from '../../contacts/write-contacts.ts'
import type { FileStatus } from '../../db/schema/imports.ts'
import { type AppError, notFound } from '../../kernel/errors.ts'
import type { ListId } from '../../kernel/ids.ts'
import { isSameAddress } from '../../kernel/values/email-key.ts'
import {
  type ConsentRecords,
  ensureSubscription,
  listRows,
  lockConsent,
  newSubscription,
  setSubscription,
  toKey,
} from '../../consent/consent-records.ts'
import { hasLeft, type SubscriptionState } from '../../consent/derive-status.ts'
import { deriveStatuses } from '../../consent/derive-statuses.ts'
import { withLostRows } from '../../consent/lost-rows.ts'
import { givenConsent, type ReportedConsent, withProof } from '../../consent/proofs.ts'
import { lockList } from '../../lists/lists.ts'
import type { Ctx } from '../../request/context.ts'
import type { ClaimedImport } from '../import-claim.ts'
import type { ImportRecord } from '../import-record.ts'
import type { ImportRow, ValidRow } from '../rows/person-rows.ts'
import type { RowStatus } from '../rows/row-status.ts'
import { type RowError, rowError } from '../rows/row-values.ts'
import { isConfirmation, isOptOut, isPending, type OptOutStatus } from '../words/statuses.ts'
import { linkCompanies } from './link-companies.ts'
import { findOptOutKeys, findSaid, hasOptOutKeys } from './opt-out-keys.ts'
import { countOptOuts, sayOptOut, withoutExported } from './record-opt-outs.ts'
import { countChanges } from './save-step.ts'
import type { WrittenRows } from './write-chunk.ts'

interface Person {
  row: ValidRow
  contact: ContactRow
  statuses: readonly FileStatus[]
  /** What it says against emails that the contact does not show already. */
  optOuts: readonly OptOutStatus[]
}

export async function writeContactRows(
  ctx: Ctx,
  claimed: ClaimedImport,
  given: readonly ImportRow[],
): Promise<WrittenRows> {
  const { id, listId, actorId, onConflict, eachEvent } = claimed
  // First: `deleteList` locks the list, then mails that a change of address replaces.
  if (listId && !(await lockList(ctx, listId))) throw notFound('List')
  const consenting = given.map((row) => requireConsent(claimed, row))
  const rows = await linkCompanies(ctx, claimed, consenting)
  const valid = rows.filter((row) => 'contact' in row)
  const contacts = valid.map(({ contact }) => contact)
  const outcomes = await writeContacts(ctx, contacts, {
    onExisting: onConflict === 'update' ? mergePolicies.import : 'keep',
    emitsEvents: eachEvent,
    reportedBy: { importId: id, actorId },
    // Rows that opt out write suppressions.
    lockMode: valid.some(({ status }) => status?.statuses.some(isOptOut)) ? 'exclusive' : 'shared',
  })
  const rejected = valid.flatMap((row, index) => {
    const outcome = outcomes[index]
    return outcome?.status === 'REJECTED' ? [toRejectedRow(row, outcome.error)] : []
  })
  const people = toPeople(valid, outcomes)
  const withoutAddress = people.filter(({ row, optOuts }) => row.contact.email === undefined && optOuts.length > 0)
  return {
    failed: [...rows.filter((row) => 'message' in row), ...rejected].toSorted((a, b) => a.line - b.line),
    warnings: people.flatMap(({ row }) => row.warnings ?? []),
    counts: {
      ...countChanges(outcomes.map(({ status }) => status)),
      ...countOptOuts(
        claimed,
        withoutAddress.map(({ optOuts }) => optOuts),
      ),
      confirmed: await subscribe(ctx, claimed, people),
    },
  }
}

/** Without the consent that the caller states, a row of a list can only say who wants no emails, or was asked. */
function requireConsent({ listId, consentConfirmed }: ImportRecord, row: ImportRow): ImportRow {
  if (listId === null || consentConfirmed || !('contact' in row) || !isConfirmation(row.status?.statuses ?? []))
    return row
  return rowError(row.line, { path: 'status', message: 'confirms the person: send consent=confirmed' })
}

/** With each contact as it is after the last row: a later row may have changed its address. */
function toPeople(rows: readonly ValidRow[], outcomes: readonly ContactOutcome[]): Person[] {
  const written = rows.flatMap((row, index) => {
    const outcome = outcomes[index]
    return outcome && 'contact' in outcome ? [{ row, found: outcome.contact }] : []
  })
  const last = new Map(written.map(({ found }) => [found.id, found]))
  return written.map(({ row, found }) => {
    const { statuses = [], exported } = row.status ?? {}
    const contact = last.get(found.id) ?? found
    return {
      row,
      contact,
      statuses,
      optOuts: withoutExported({ statuses: statuses.filter(isOptOut), exported }, contact),
    }
  })
}

/** Returns the number of rows whose contact is confirmed on the list. */
async function subscribe(ctx: Ctx, claimed: ClaimedImport, people: readonly Person[]): Promise<number> {
  const { listId, eachEvent } = claimed
  const contacts = [...new Map(people.map(({ contact }) => [contact.id, contact])).values()]
  const optsOut = await createOptOutCheck(ctx, claimed, people)
  const hasOptOuts = people.some(({ statuses }) => statuses.some(isOptOut))
  const records = await lockConsent(ctx, { contacts, mode: hasOptOuts ? 'exclusive' : 'shared' })
  await applyOptOutsToContacts(ctx, claimed, { records, people })
  const confirmed = new Set<string>()
  if (listId) {
    const consenting = people.filter((one) => isConfirmation(one.statuses) && isAddressOf(one) && !optsOut(one))
    for (const id of confirmPeople(ctx, { ...claimed, listId }, { records, people: consenting })) confirmed.add(id)
    const others = people.filter((one) => !isPending(one.statuses) || !optsOut(one))
    addSubscriptions(ctx, listId, { records, people: others })
    const widens = (state: SubscriptionState) => confirmed.has(state.contactId) && state.listId === listId
    await deriveStatuses(ctx, records, { emitsEvents: eachEvent, widens })
    return consenting.filter(({ contact }) => confirmed.has(contact.id)).length
  }
  await deriveStatuses(ctx, records, { emitsEvents: eachEvent })
  return 0
}

interface Recorded {
  records: ConsentRecords
  people: readonly Person[]
}

/** With `onConflict=skip`, a contact that its external id finds keeps its address: the row consents for another one. */
const isAddressOf = ({ row, contact }: Person) =>
  row.contact.email === undefined || isSameAddress(row.contact.email, contact.email)

/** Whether any row of the file says that the person opts out, by the keys of the row or of the contact. */
async function createOptOutCheck(ctx: Ctx, claimed: ClaimedImport, people: readonly Person[]) {
  if (!claimed.listId || !(await hasOptOutKeys(ctx, claimed.id))) return () => false
  const keysOf = ({ row, contact }: Person) => [row.contact, contact]
  const isOptedOut = await findOptOutKeys(ctx, claimed.id, people.flatMap(keysOf))
  return (person: Person) => keysOf(person).some(isOptedOut)
}

interface ImportOfList extends ClaimedImport {
  listId: ListId
}

/**
 * Confirms contacts that have consented elsewhere, even if the operator removed them. One that opted out, or whose
 * address is suppressed, stays as it is, also if the row is lost. Returns the contacts that are confirmed then.
 */
function confirmPeople(ctx: Ctx, claimed: ImportOfList, { records, people }: Recorded): Set<string> {
  const { id, actorId, listId } = claimed
  const claims = new Map<string, ReportedConsent | undefined>()
  for (const { row, contact } of people) claims.set(contact.id, toReportedConsent(row.status) ?? claims.get(contact.id))
  const confirmed = new Set<string>()
  const withLost = withLostRows(ctx, records)
  for (const { contact } of people) {
    const key = { listId, contactId: contact.id }
    const current = records.subscriptions.get(toKey(key))
    const rows = listRows(withLost, contact.email, listId)
    if (rows.length > 0 || hasLeft(current, rows)) continue
    confirmed.add(contact.id)
    if (current?.ownStatus === 'CONFIRMED') continue
    const claim = claims.get(contact.id)
    const proof = givenConsent(ctx, contact.email, { method: 'IMPORT', importId: id, actorId, reported: claim })
    const given = {
      ownStatus: 'CONFIRMED',
      ownStatusAt: records.now,
      confirmedAt: claim?.at ?? records.now,
      consent: withProof(current?.consent ?? null, proof),
    } as const
    setSubscription(
      records,
      current ? { ...current, ...given } : newSubscription(ctx, key, { ...given, source: 'import' }),
    )
  }
  return confirmed
}

const toReportedConsent = (status: RowStatus | undefined) =>
  status?.confirmedAt || status?.optInAddress ? { at: status.confirmedAt, address: status.optInAddress } : undefined

/** Adds PENDING and REMOVED subscriptions for contacts that have none. A PENDING contact gets no email. */
function addSubscriptions(ctx: Ctx, listId: ListId, { records, people }: Recorded): void {
  const withLost = withLostRows(ctx, records)
  for (const person of people.filter(isAddressOf)) {
    const { contact, statuses } = person
    const key = { listId, contactId: contact.id }
    if (records.subscriptions.has(toKey(key))) continue
    const isSuppressed = listRows(withLost, contact.email, listId).length > 0
    if (statuses.includes('UNSUBSCRIBED') && isSuppressed)
      ensureSubscription(ctx, records, { ...key, source: 'import' })
    else if (isPending(statuses) && !isSuppressed)
      setSubscription(
        records,
        newSubscription(ctx, key, { ownStatus: 'PENDING', ownStatusAt: records.startedAt, source: 'import' }),
      )
  }
}

/**
 * What a person said in a row holds for the address that their contact has kept, too, if the first pass did not know the
 * contact. A bounce concerns the address of the row alone.
 */
async function applyOptOutsToContacts(ctx: Ctx, { id, listId }: ImportRecord, { records, people }: Recorded) {
  const said = people.flatMap((person) => {
    const { row, contact, optOuts } = person
    if (row.contact.email !== undefined && isAddressOf(person)) return []
    const one = { email: contact.email, at: row.status?.unsubscribedAt, listId, contactId: contact.id }
    const ofContact = optOuts.filter((status) => status !== 'BOUNCED' || row.contact.email === undefined)
    return ofContact.map((status) => ({ ...one, status }))
  })
  const isSaid = await findSaid(ctx, id, said)
  for (const one of said.filter((one) => !isSaid(one))) sayOptOut(ctx, records, one)
}

function toRejectedRow({ line, contact, status }: ValidRow, { message, issues }: AppError): RowError {
  const isLostOptOut = contact.email === undefined && status?.statuses.some(isOptOut)
  const lost = {
    path: 'externalId',
    message: 'no contact has it and the row has no email, so the opt-out is not recorded',
  }
  return rowError(line, isLostOptOut ? lost : (issues?.[0] ?? { message }))
}
