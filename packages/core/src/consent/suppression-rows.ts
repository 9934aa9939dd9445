/**
 * Statements against mail to an address, in memory. Who said what, and who can take it back:
 *
 * | reason     | given by                                                 | goes by                               |
 * | ---------- | -------------------------------------------------------- | ------------------------------------- |
 * | COMPLAINED | the person, to their mail provider                       | a link that is mailed to the person   |
 * | OPTED_OUT  | the person: by a link, through the operator, in a file   | the same, or an undo for ten minutes  |
 * | BOUNCED    | a mail server                                            | an ADMIN                              |
 * | MANUAL     | the operator, who blocks the address                     | an ADMIN                              |
 */
import { suppressionReasons, type suppressions } from '../db/schema/index.ts'
import { type AppError, conflict } from '../kernel/errors.ts'
import type { ListId } from '../kernel/ids.ts'
import { earlierOf, laterOf, type Timestamp, timestampAt } from '../kernel/values/timestamps.ts'

export type SuppressionRow = typeof suppressions.$inferSelect
export type Reason = SuppressionRow['reason']

/** Whether the person said it: only they can lift it. */
export const isByPerson = ({ reason }: Pick<SuppressionRow, 'reason'>) =>
  reason === 'COMPLAINED' || reason === 'OPTED_OUT'

/** Whether it forbids mail of this list. */
export const coversList =
  (listId: ListId) =>
  (row: Pick<SuppressionRow, 'listId'>): boolean =>
    row.listId === null || row.listId === listId

/** Whether the person may be asked to confirm: their link lifts what they said, but no bounce and no block. */
export const canConfirm = (rows: readonly SuppressionRow[]) => rows.every(isByPerson)

/** The strictest first. */
export const byStrictness = (rows: Iterable<SuppressionRow>): SuppressionRow[] =>
  [...rows].toSorted((one, other) => strictness(one) - strictness(other))

const strictness = ({ reason }: SuppressionRow) => suppressionReasons.indexOf(reason)

/** The error for an address that must not be mailed or subscribed, by its suppressions. */
export function createSuppressedError(rows: readonly SuppressionRow[]): AppError {
  const [strictest] = byStrictness(rows)
  if (!strictest) throw new Error('The address has no suppression')
  const remedy = isByPerson(strictest) ? 'only its owner can opt in again' : 'an admin can lift the suppression'
  return conflict('opted_out', `The address is suppressed (${strictest.reason}): ${remedy}`)
}

/** What makes two statements one row: see the keys of the table. */
export function keyOf({ emailHash, listId, reason, source }: SuppressionRow): string {
  return [emailHash, listId ?? '', reason, isByPerson({ reason }) ? source : ''].join(' ')
}

/** One statement that is stored twice: under a former SECRET_KEY, or for two addresses of a person. */
export function combine(one: SuppressionRow, other: SuppressionRow): SuppressionRow {
  const older = one.createdAt <= other.createdAt ? one : other
  return {
    ...older,
    note: older.note ?? (older === one ? other : one).note,
    firstSaidAt: earlierOf(one.firstSaidAt, other.firstSaidAt),
    saidAt: laterOf(one.saidAt, other.saidAt),
    undoableUntil: one.undoableUntil && other.undoableUntil && earlierOf(one.undoableUntil, other.undoableUntil),
  }
}

/** A statement that is said again at `at`: the date in a file never moves it back, any other word moves it forward. */
export function repeat(row: SuppressionRow, at: Timestamp, isDated: boolean): SuppressionRow {
  const next = isDated ? at : laterOf(at, timestampAt(Date.parse(row.saidAt) + 1))
  if (next <= row.saidAt && at >= row.firstSaidAt) return row
  return { ...row, firstSaidAt: earlierOf(row.firstSaidAt, at), saidAt: laterOf(row.saidAt, next) }
}
