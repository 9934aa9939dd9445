import type { Consent } from '../db/schema/index.ts'
import type { ContactId } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import {
  type AddressedContact,
  type ConsentRecords,
  ensureSubscription,
  listSubscriptions,
  setSubscription,
} from './consent-records.ts'
import { limitProofs, operatorProof } from './proofs.ts'
import type { SuppressionRow } from './suppression-rows.ts'

interface Reported {
  contact: AddressedContact
  row: SuppressionRow
  note: string | null
}

/**
 * Adds the proof of an opt-out that an operator records to the subscriptions that it is about, also to ended ones. Recorded
 * again, it has one proof, so that repetitions do not push out the others. A repetition without a note keeps the proof of the
 * note: it says who recorded it, and when.
 */
export function addOptOutProof(ctx: Ctx, records: ConsentRecords, { contact, row, note }: Reported): void {
  const { listId } = row
  if (listId) ensureSubscription(ctx, records, { listId, contactId: contact.id })
  const proof = operatorProof(ctx, { email: contact.email, note, at: records.now, suppressionId: row.id })
  for (const state of listSubscriptions(records, contact.id)) {
    if (listId && state.listId !== listId) continue
    const former = state.consent?.find(({ suppressionId }) => suppressionId === row.id)
    if (former?.note && !note) continue
    const others = state.consent?.filter(({ suppressionId }) => suppressionId !== row.id) ?? []
    setSubscription(records, { ...state, consent: limitProofs([proof, ...others]) })
  }
}

/** Removes the proofs of an opt-out that is undone. */
export function removeProofs(records: ConsentRecords, contactId: ContactId, row: SuppressionRow): void {
  const isKept = ({ suppressionId }: Consent) => suppressionId !== row.id
  for (const state of listSubscriptions(records, contactId)) {
    if (state.consent?.every(isKept) ?? true) continue
    const consent = state.consent?.filter(isKept) ?? []
    setSubscription(records, { ...state, consent: consent.length > 0 ? consent : null })
  }
}
