import type { ContactId } from '../kernel/ids.ts'
import { type ConsentRecords, listSubscriptions, setSubscription, toKey } from './consent-records.ts'
import { mergeProofs } from './proofs.ts'
import type { SubscriptionState } from './derive-status.ts'

/**
 * Moves the subscriptions of a merged contact to the remaining one. If both are on a list, the later removal wins, else
 * the own status of the remaining contact. The proofs of both are kept. Returns those that only the merged one had, as
 * they were.
 */
export function mergeSubscriptions(
  records: ConsentRecords,
  { from, to }: { from: ContactId; to: ContactId },
): Map<string, SubscriptionState> {
  const moved = new Map<string, SubscriptionState>()
  for (const state of listSubscriptions(records, from)) {
    records.subscriptions.delete(toKey(state))
    const key = { listId: state.listId, contactId: to }
    const kept = records.subscriptions.get(toKey(key))
    if (!kept) {
      const own = { ...state, ...key }
      moved.set(toKey(key), own)
      setSubscription(records, own)
      continue
    }
    const isLater = kept.ownStatus !== 'REMOVED' || kept.ownStatusAt < state.ownStatusAt
    const removal = state.ownStatus === 'REMOVED' && isLater
    setSubscription(records, {
      ...kept,
      consent: mergeProofs(kept.consent, state.consent),
      ...(removal && { ownStatus: 'REMOVED', ownStatusAt: state.ownStatusAt }),
    })
  }
  return moved
}
