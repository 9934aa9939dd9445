/** What the links of emails may do against suppressions: confirm a subscription, and undo an unsubscribe. */
import { type ListId, newId } from '../kernel/ids.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'
import { type ConsentRecords, listRows, removeSuppressions } from './consent-records.ts'
import type { SubscriptionState } from './derive-status.ts'
import { canConfirm, combine, isByPerson, keyOf, type SuppressionRow } from './suppression-rows.ts'

/** How long a statement by a link or by an operator can be undone. */
export const undoLifetimeMs = 10 * 60 * 1000

type LinkedState = Pick<SubscriptionState, 'ownStatus' | 'ownStatusAt' | 'unsubscribedAt'>

/** Whether a link, asked for at `issuedAt`, is older than a suppression or a removal, or cannot lift a suppression. */
export function isRefused(state: LinkedState, rows: readonly SuppressionRow[], issuedAt: Timestamp): boolean {
  const { ownStatus, ownStatusAt, unsubscribedAt } = state
  const isOutdated = rows.some(({ saidAt }) => saidAt >= issuedAt)
  const isRemoved = ownStatus === 'REMOVED' && ownStatusAt >= issuedAt
  // The operator removed the contact in between, and a visitor has asked again.
  const isOfEarlierRequest = ownStatus === 'PENDING' && ownStatusAt > issuedAt
  const isEndedSince = unsubscribedAt !== null && unsubscribedAt >= issuedAt && rows.length === 0
  return isOutdated || isRemoved || isOfEarlierRequest || isEndedSince || !canConfirm(rows)
}

/** What the person said for all lists remains said for every other list of the workspace, but not for those to come. */
export async function returnToList(
  records: ConsentRecords,
  { rows, listOthers }: { rows: readonly SuppressionRow[]; listOthers: () => Promise<readonly ListId[]> },
): Promise<void> {
  removeSuppressions(records, rows)
  const ofAll = rows.filter((row) => row.listId === null && isByPerson(row))
  if (ofAll.length === 0) return
  for (const other of await listOthers()) {
    for (const row of ofAll) {
      const narrowed = { ...row, id: newId('sup'), listId: other, reason: 'OPTED_OUT', undoableUntil: null } as const
      const known = records.rows.get(keyOf(narrowed))
      records.rows.set(keyOf(narrowed), known ? combine(known, narrowed) : narrowed)
    }
  }
}

/** The row of an unsubscribe that its link undoes, if it is the only suppression. */
export function findUndone(
  records: ConsentRecords,
  { email, listId, saidAt }: { email: string; listId: ListId; saidAt: Timestamp },
): SuppressionRow | 'NOT_SUPPRESSED' | 'REFUSED' {
  const [row, ...others] = listRows(records, email, listId)
  if (!row) return 'NOT_SUPPRESSED'
  const isOwn = row.reason === 'OPTED_OUT' && row.source === 'LINK' && row.listId === listId
  const isUndoable = row.undoableUntil !== null && row.undoableUntil > records.now && row.saidAt === saidAt
  return isOwn && isUndoable && others.length === 0 ? row : 'REFUSED'
}
