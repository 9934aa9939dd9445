/**
 * The one way to write contacts by their keys. Upsert, form, sign-up, batch and import call it with different policies:
 *
 * 1. Lock the contacts that have one of the keys.
 * 2. Decide in memory, by `contact-index.ts` and `mergeContact`. Several inputs for one contact take effect in order.
 * 3. Update the changed contacts and insert the new ones, each in one statement, and emit the events.
 *
 * A writer waits for a concurrent writer of the same key. A contact whose key was taken meanwhile is locked and decided
 * again.
 *
 * Locks are taken in this order: the quota, custom fields, companies, known contacts by
 * id, new contacts by email. Two writers can
 * deadlock only if a third one creates a contact between their steps, or if both give several contacts each other's new
 * addresses. PostgreSQL then ends one of them, and callers retry it or respond with 503.
 */
import { companyNotFound, lockCompanies } from '../companies/linked-companies.ts'
import { emitMany, emitUpdates } from '../events/emit.ts'
import { AppError, changedConcurrently } from '../kernel/errors.ts'
import { contactQuota } from '../quotas/record-quota.ts'
import { quotaExceeded } from '../quotas/require-quota.ts'
import type { Ctx } from '../request/context.ts'
import { checkEachCustomValues } from '../custom-fields/check-custom-values.ts'
import { contactCreated, contactUpdated } from './contact-events.ts'
import {
  type AddressChange,
  askToConfirm,
  changeAddress,
  readConfirmChangedAddress,
} from '../consent/change-address.ts'
import type { SubscriptionState } from '../consent/derive-status.ts'
import { lockAddresses, type LockMode } from '../consent/address-locks.ts'
import { readConsent } from '../consent/consent-records.ts'
import { moveTrackingChoices } from '../consent/tracking/tracking-consents.ts'
import { type ContactRow, toContact } from './contact-record.ts'
import { findContactsByKeys, lockKnownContacts } from './find-contact.ts'
import { createContactIndex, groupByContact } from './identity/contact-index.ts'
import { type CheckedInput, type LinkedInput, type MergePolicy, newContact } from './merge-contact.ts'
import { applyInputs, type ContactOutcome, type Decision, type Entry } from './writing/decide-contacts.ts'
import { storeContacts } from './writing/store-contacts.ts'

export type { ContactOutcome } from './writing/decide-contacts.ts'

interface WriteOptions {
  /** `keep` leaves existing contacts unchanged. */
  onExisting: MergePolicy | 'keep'
  /** Whether to emit `contact.created` and `contact.updated`, and the events of what a change of address ends. */
  emitsEvents: boolean
  /** Who changes addresses, for the proof of consent. Default: the actor of the request. */
  reportedBy?: AddressChange['reportedBy']
  /** Locks the addresses of all contacts, for what the caller does next. Default: only those that change. */
  lockMode?: LockMode
}

/**
 * Creates and updates contacts by external id and email in the caller's transaction, and locks them until it ends.
 * Returns an outcome for each input, in order: an input that is not valid, whose keys belong to different contacts, or
 * that would exceed a limit or the quota, is rejected and does not affect the others. Throws `unavailable` if concurrent
 * requests keep taking the keys.
 */
export async function writeContacts(
  ctx: Ctx,
  inputs: readonly LinkedInput[],
  options: WriteOptions,
): Promise<ContactOutcome[]> {
  const quota = await contactQuota.read(ctx)
  const { checked, rejected } = await checkInputs(ctx, inputs)
  const rules = { options, quota }
  const stored: Decision[] = []
  const decided = new Set(rejected.map(([index]) => index))
  let open = checked
  for (let round = 1; open.length > 0; round++) {
    if (round > maxRounds) throw changedConcurrently()
    const decisions = await decideAll(ctx, open, rules)
    const kept = await storeContacts(ctx, decisions)
    contactQuota.add(ctx, quota, kept.flatMap(({ created }) => created).length)
    stored.push(...kept)
    for (const [index] of resultsOf(kept)) decided.add(index)
    open = open.filter(({ index }) => !decided.has(index))
  }
  const results = await changeAddresses(ctx, stored, options)
  if (options.emitsEvents) await emitOutcomes(ctx, results)
  const outcomes = new Map([...rejected, ...results])
  return inputs.flatMap((_input, index) => outcomes.get(index) ?? [])
}

const maxRounds = 3

async function checkInputs(ctx: Ctx, inputs: readonly LinkedInput[]) {
  const values = await checkEachCustomValues(ctx, {
    object: 'CONTACT',
    inputs: inputs.map(({ customFieldValues = {} }) => customFieldValues),
  })
  const companyNames = await lockCompanies(
    ctx,
    inputs.flatMap(({ companyId, companyName }) => (companyName === undefined && companyId) || []),
  )
  const checked: Entry[] = []
  const rejected: [number, ContactOutcome][] = []
  for (const [index, input] of inputs.entries()) {
    const customFieldValues = values[index]
    const { companyName = input.companyId ? companyNames.get(input.companyId) : undefined } = input
    if (customFieldValues instanceof AppError) rejected.push([index, { status: 'REJECTED', error: customFieldValues }])
    else if (input.companyId && companyName === undefined)
      rejected.push([index, { status: 'REJECTED', error: companyNotFound() }])
    else checked.push({ index, input: { ...input, customFieldValues, companyName } })
  }
  return { checked, rejected }
}

interface Rules {
  options: WriteOptions
  quota: { limit: number; used: number }
}

async function decideAll(ctx: Ctx, entries: readonly Entry[], { options, quota }: Rules): Promise<Decision[]> {
  const inputs = entries.map(({ input }) => input)
  const known = await lockKnownContacts(ctx, inputs)
  const index = createContactIndex(known)
  let created = 0
  const create = (input: CheckedInput & { email: string }) => {
    if (quota.used + created >= quota.limit) throw quotaExceeded('contacts', quota.limit)
    const contact = newContact(ctx.workspaceId, input)
    created += 1
    return contact
  }
  return groupByContact(entries, known).map((group) =>
    applyInputs(index, group, { create, onExisting: options.onExisting }),
  )
}

type Results = Decision['results']

const resultsOf = (decisions: readonly Decision[]): Results =>
  decisions.flatMap(({ results }) => results).toSorted(([one], [other]) => one - other)

/**
 * Changes the subscriptions of contacts that got another address. Returns the results with these contacts as they are
 * then.
 */
async function changeAddresses(
  ctx: Ctx,
  decisions: readonly Decision[],
  { reportedBy, lockMode, emitsEvents }: WriteOptions,
): Promise<Results> {
  const moves = decisions.flatMap((decision) => decision.moves)
  const addresses = moves.flatMap(({ from, to }) => [from, to])
  const all =
    lockMode === undefined
      ? []
      : resultsOf(decisions).flatMap(([, outcome]) => ('contact' in outcome ? [outcome.contact.email] : []))
  // In one call, as two writers could otherwise wait for each other.
  if (addresses.length + all.length === 0) return resultsOf(decisions)
  const mode = addresses.length > 0 ? 'exclusive' : (lockMode ?? 'shared')
  const moments = await lockAddresses(ctx, [...addresses, ...all], mode)
  if (moves.length === 0) return resultsOf(decisions)
  await moveTrackingChoices(ctx, moves, emitsEvents)
  const mustConfirm = await readConfirmChangedAddress(ctx)
  const toAsk = new Map<ContactRow['id'], { email: string; asked: SubscriptionState[] }>()
  for (const move of moves) {
    const { id, from, to: email } = move
    const records = await readConsent(ctx, moments, { contacts: [{ id, email }], emails: [from], mode: 'exclusive' })
    const { asked } = await changeAddress(ctx, records, {
      ...move,
      mustConfirm,
      reportedBy,
      emitsEvents,
      asked: toAsk.get(id)?.asked,
    })
    toAsk.set(id, { email, asked })
  }
  for (const { email, asked } of toAsk.values()) await askToConfirm(ctx, email, asked)
  const moved = await findContactsByKeys(ctx, [...toAsk.values()])
  const saved = new Map(moved.map((row) => [row.id, row]))
  const written = decisions.flatMap(({ created, changed }) => [...created, ...changed.map(({ after }) => after)])
  const current = new Map<ContactRow, ContactRow>()
  for (const row of written) current.set(row, saved.get(row.id) ?? row)
  return resultsOf(decisions).map(([index, outcome]) =>
    'contact' in outcome
      ? [index, { ...outcome, contact: current.get(outcome.contact) ?? outcome.contact }]
      : [index, outcome],
  )
}

async function emitOutcomes(ctx: Ctx, results: Results): Promise<void> {
  const outcomes = results.map(([, outcome]) => outcome)
  const created = outcomes.flatMap((outcome) => (outcome.status === 'CREATED' ? [toContact(outcome.contact)] : []))
  const updates = outcomes.flatMap((outcome) =>
    outcome.status === 'UPDATED' ? [{ before: toContact(outcome.before), after: toContact(outcome.contact) }] : [],
  )
  await emitMany(ctx, contactCreated, created)
  await emitUpdates(ctx, contactUpdated, updates)
}
