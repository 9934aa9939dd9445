/** Decides in memory what becomes of contacts. Nothing here reads or writes the database. */
import { AppError, invalidField } from '../../kernel/errors.ts'
import type { ContactId } from '../../kernel/ids.ts'
import { isSameAddress } from '../../kernel/values/email-key.ts'
import type { AddressChange } from '../../consent/change-address.ts'
import type { ContactRow } from '../contact-record.ts'
import type { ContactIndex } from '../identity/contact-index.ts'
import { type ContactKeys, externalIdsOf, type MatchedBy } from '../identity/contact-keys.ts'
import { type CheckedInput, mergeContact, type MergePolicy, withTimeOfUpdate } from '../merge-contact.ts'

/** What became of an input, with the contact as it was right after it. */
export type ContactOutcome =
  | { status: 'CREATED' | 'UNCHANGED'; contact: ContactRow; matchedBy: MatchedBy }
  | { status: 'UPDATED'; before: ContactRow; contact: ContactRow; matchedBy: MatchedBy }
  | { status: 'REJECTED'; error: AppError }

/** An input with its position. */
export interface Entry {
  index: number
  input: CheckedInput
}

/** What becomes of the contacts that a group of inputs is about. */
export interface Decision {
  created: ContactRow[]
  changed: { before: ContactRow; after: ContactRow }[]
  /** The changes of address, in their order. */
  moves: AddressChange[]
  /** The outcome of each input, by its position. */
  results: [number, ContactOutcome][]
}

interface Actions {
  create: (input: CheckedInput & { email: string }) => ContactRow
  onExisting: MergePolicy | 'keep'
}

/** Applies inputs one after the other. An input that is rejected does not affect the others. */
export function applyInputs(index: ContactIndex, group: readonly Entry[], actions: Actions): Decision {
  const originals = new Map<ContactId, ContactRow | undefined>()
  const moves: AddressChange[] = []
  const save = (next: ContactRow, before?: ContactRow) => {
    if (!originals.has(next.id)) originals.set(next.id, before)
    if (before && !isSameAddress(before.email, next.email))
      moves.push({ id: next.id, from: before.email, to: next.email })
    index.put(next)
  }
  const apply = (input: CheckedInput): ContactOutcome => {
    const { record: contact, matchedBy } = index.match(input)
    if (!contact) {
      const created = actions.create({ ...input, email: requireEmail(input) })
      save(created)
      return { status: 'CREATED', contact: created, matchedBy }
    }
    if (actions.onExisting === 'keep') return { status: 'UNCHANGED', contact, matchedBy }
    const given = { ...input, ...changedKeys(contact, input, matchedBy) }
    const next = withTimeOfUpdate(contact, mergeContact(contact, given, actions.onExisting))
    if (next === contact) return { status: 'UNCHANGED', contact, matchedBy }
    save(next, contact)
    return { status: 'UPDATED', before: contact, contact: next, matchedBy }
  }
  const results = group.map(({ index, input }): [number, ContactOutcome] => {
    try {
      return [index, apply(input)]
    } catch (error) {
      if (error instanceof AppError) return [index, { status: 'REJECTED', error }]
      throw error
    }
  })
  const rows = [...originals].flatMap(([id, before]) => ({ before, after: index.get(id) }))
  return {
    created: rows.flatMap(({ before, after }) => (before || !after ? [] : [after])),
    changed: rows.flatMap(({ before, after }) => (before && after ? [{ before, after }] : [])),
    moves,
    results,
  }
}

/**
 * The keys that the input gives a contact. The key that found it stays: an address keeps its spelling, and an alias does
 * not replace an external id. Neither key is cleared.
 */
function changedKeys(contact: ContactRow, { email, externalId }: ContactKeys, matchedBy: MatchedBy): ContactKeys {
  if (matchedBy === 'email') return { email: undefined, externalId: externalId ?? undefined }
  const isSame = email !== undefined && isSameAddress(email, contact.email)
  return { email: isSame ? undefined : email, externalId: undefined }
}

function requireEmail({ email }: CheckedInput): string {
  if (email === undefined) throw invalidField('email', 'email: is required')
  return email
}

/** The external ids that contacts get. */
export function newExternalIds({ created, changed }: Decision): string[] {
  const given = changed.filter(({ before, after }) => before.externalId !== after.externalId)
  return externalIdsOf([...created, ...given.map(({ after }) => after)])
}

/** Whether the decision holds only if no other writer has taken a key, or concerns several contacts. */
export function dependsOnKeys(decision: Decision): boolean {
  const { created, changed, moves } = decision
  return moves.length > 0 || newExternalIds(decision).length > 0 || created.length + changed.length > 1
}
