import { eq } from 'drizzle-orm'
import { workspaces } from '../db/schema/index.ts'
import { type ImportId, newId } from '../kernel/ids.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'
import { requestConfirmationMail } from '../mail/request-confirmation-mail.ts'
import type { Ctx } from '../request/context.ts'
import {
  type AddressedContact,
  type ConsentRecords,
  listRows,
  listSubscriptions,
  setSubscription,
  toKey,
} from './consent-records.ts'
import { restoreLostRows } from './lost-rows.ts'
import type { SubscriptionState } from './derive-status.ts'
import { deriveStatuses } from './derive-statuses.ts'
import { hashEmail } from './hash-email.ts'
import { isRefused } from './link-rules.ts'
import { type ConsentSource, givenConsent, requestedConsent, withProof } from './proofs.ts'
import { combine, isByPerson, keyOf, type SuppressionRow } from './suppression-rows.ts'

export interface AddressChange {
  id: AddressedContact['id']
  from: string
  to: string
  /** Default: the actor of the request. */
  reportedBy?: { importId?: ImportId; actorId?: string | null } | undefined
  /** Default: true. */
  emitsEvents?: boolean
  /** The setting `confirmChangedAddress`. Default: it is read. */
  mustConfirm?: boolean
}

/**
 * Makes what a person said about one of two addresses hold for both, and blocks too. A bounce concerns its address alone.
 * What holds for two addresses can no longer be undone. The former address keeps no trace of the contact.
 */
export function shareSuppressions(records: ConsentRecords, from: string, to: string): void {
  const [formerHash, nextHash] = [records.hashOf(from), records.hashOf(to)]
  if (formerHash === nextHash) return
  const ofAddress = (hash: string) => [...records.rows.values()].filter((row) => row.emailHash === hash)
  const isShared = (row: SuppressionRow) => isByPerson(row) || row.reason === 'MANUAL'
  const [former, next] = [ofAddress(formerHash), ofAddress(nextHash)]
  for (const row of former)
    records.rows.set(keyOf(row), { ...row, contactId: null, note: isShared(row) ? row.note : null })
  const copies = [
    ...former.filter(isShared).map((row) => ({ row, hash: nextHash })),
    ...next.filter(isShared).map((row) => ({ row, hash: formerHash })),
  ]
  for (const { row, hash } of copies) {
    const shared = { ...row, undoableUntil: null }
    const copy = { ...shared, id: newId('sup'), emailHash: hash, contactId: null }
    const met = records.rows.get(keyOf(copy))
    records.rows.set(
      keyOf(copy),
      met ? { ...combine(met, copy), id: met.id, createdAt: met.createdAt, undoableUntil: null } : copy,
    )
    const original = records.rows.get(keyOf(row))
    if (original) records.rows.set(keyOf(row), { ...original, undoableUntil: null })
  }
  for (const row of ofAddress(formerHash)) records.rows.set(keyOf(row), { ...row, contactId: null, note: null })
}

/**
 * Applies a change of address to the subscriptions of a locked contact, whose row is saved; the transaction has locked
 * both addresses, and `records` has the contact at its new one. `asked` is what an earlier change of the transaction
 * wants confirmed. What was chosen about tracking moves apart: see `moveTrackingChoices`. Returns whether a subscription
 * changed, and those for `askToConfirm`, after the last change.
 */
export async function changeAddress(
  ctx: Ctx,
  records: ConsentRecords,
  change: AddressChange & Pick<ConfirmedMove, 'asked'>,
): Promise<{ isChanged: boolean; asked: SubscriptionState[] }> {
  const { id, from, to, emitsEvents = true } = change
  restoreLostRows(ctx, records, [{ id, email: from }])
  shareSuppressions(records, from, to)
  const asked = await moveConfirmed(ctx, records, change)
  // A bounce stays behind.
  const { changes, changedIds } = await deriveStatuses(ctx, records, {
    emitsEvents,
    widens: ({ contactId, status }) => contactId === id && status === 'BOUNCED',
  })
  return {
    isChanged: changedIds.has(id),
    asked: changes.filter(({ after }) => asked.has(toKey(after))).map(({ after }) => after),
  }
}

interface ConfirmedMove extends AddressChange {
  /** Default: every subscription of the contact. */
  isMoved?: (state: SubscriptionState) => boolean
  /** Those that an earlier change has made PENDING. */
  asked?: readonly SubscriptionState[] | undefined
}

/**
 * Adds the proof of the change to the confirmed subscriptions that `isMoved` chooses. With the setting
 * `confirmChangedAddress` they become PENDING, unless the person has left them: those that a bounce or a block suspends
 * are PENDING when it is lifted. Those that wait for such a confirmation by the former address are asked anew. Returns
 * the keys of those that are PENDING.
 */
export async function moveConfirmed(
  ctx: Ctx,
  records: ConsentRecords,
  { id, from, to, reportedBy, isMoved = () => true, asked: askedBefore = [], ...change }: ConfirmedMove,
): Promise<Set<string>> {
  const pendingKeys = new Set(askedBefore.map(toKey))
  const states = listSubscriptions(records, id).filter(
    (state) => (state.ownStatus === 'CONFIRMED' || pendingKeys.has(toKey(state)) || isAsked(state)) && isMoved(state),
  )
  const agreed = states.filter(({ listId }) => !listRows(records, to, listId).some(isByPerson))
  const asked = new Set<string>()
  if (agreed.length === 0) return asked
  const isSet = change.mustConfirm ?? (await readConfirmChangedAddress(ctx))
  const source: ConsentSource = { method: 'ADDRESS_CHANGED', formerEmailHash: hashEmail(ctx, from), ...reportedBy }
  for (const state of agreed) {
    const pending = { ownStatus: 'PENDING', ownStatusAt: records.startedAt, confirmedAt: null } as const
    const mustConfirm = isSet || state.ownStatus === 'PENDING'
    const proof = mustConfirm
      ? requestedConsent(ctx, to, { ...source, issuedAt: records.startedAt })
      : givenConsent(ctx, to, source)
    setSubscription(records, { ...state, consent: withProof(state.consent, proof), ...(mustConfirm && pending) })
    if (mustConfirm) asked.add(toKey(state))
  }
  return asked
}

export async function readConfirmChangedAddress(ctx: Ctx): Promise<boolean> {
  const { confirmChangedAddress } = workspaces
  const rows = await ctx.db.select({ confirmChangedAddress }).from(workspaces).where(eq(workspaces.id, ctx.workspaceId))
  return rows.some((row) => row.confirmChangedAddress)
}

/** Whether an earlier change of address waits for its confirmation. */
const isAsked = ({ ownStatus, consent }: SubscriptionState): boolean =>
  ownStatus === 'PENDING' && consent?.[0]?.method === 'ADDRESS_CHANGED' && consent[0].confirmedAt === null

/** Emails the new address a link for each subscription that is PENDING, within the limits for these emails. */
export async function askToConfirm(ctx: Ctx, email: string, states: readonly SubscriptionState[]): Promise<void> {
  for (const state of states.filter(({ status }) => status === 'PENDING')) {
    const { listId, contactId } = state
    const isOlder = (issuedAt: Timestamp) => isRefused(state, [], issuedAt)
    await requestConfirmationMail(ctx, { kind: 'CONFIRMATION', email, listId, contactId, isRefused: isOlder })
  }
}
