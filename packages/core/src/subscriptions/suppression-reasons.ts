/**
 * Why an address gets no mail. The reasons of an address add up, and each is lifted by itself:
 *
 * | reason     | given by                                   | lifted by                        | subscriptions of the contact |
 * |------------|--------------------------------------------|----------------------------------|------------------------------|
 * | COMPLAINED | the person, to their mail provider         | the person, by an emailed link   | COMPLAINED                   |
 * | OPTED_OUT  | the person, also through the operator      | the person, by an emailed link   | UNSUBSCRIBED                 |
 * | BOUNCED    | a mail server                              | an ADMIN                         | BOUNCED until it is lifted   |
 * | MANUAL     | the operator, who blocks the address       | an ADMIN                         | removed until it is lifted   |
 *
 * The first ones are the strictest. What the person said ends a subscription: lifting it restores none. A bounce or a
 * block replaces the status of a subscription, and lifting the last of them restores it (`replacedStatus`).
 */
import { type SuppressionReason, suppressionReasons } from '../db/schema/index.ts'
import { type AppError, conflict } from '../kernel/errors.ts'
import type { Subscription } from './subscriptions.schema.ts'

export type Reason = SuppressionReason['reason']

/** Adds a reason. The same one from several statements is one reason. */
export function addReason(reasons: readonly SuppressionReason[], added: SuppressionReason): SuppressionReason[] {
  const known = reasons.find(({ reason }) => reason === added.reason)
  if (known) return reasons.map((one) => (one === known ? combine(known, added) : one))
  return [...reasons, added].toSorted((one, other) => strictness(one.reason) - strictness(other.reason))
}

/**
 * Of two statements of an operator the earlier one stands, because the undo of the later one must not revert it. What the
 * person said counts from its latest moment, because a confirmation link from before must not confirm, and by the source
 * that an operator cannot undo. A known bounce or block changes nothing.
 */
function combine(known: SuppressionReason, added: SuppressionReason): SuppressionReason {
  const [earlier, later] = known.createdAt <= added.createdAt ? [known, added] : [added, known]
  if (known.source === 'API' && added.source === 'API') return earlier
  if (!isByPerson(known)) return known
  const source = known.source === 'API' || added.source === 'LINK' ? added.source : known.source
  return { ...known, source, createdAt: later.createdAt }
}

const strictness = (reason: Reason) => suppressionReasons.indexOf(reason)

/** What a subscription becomes by the strictest reason. */
export const statusByReason = {
  COMPLAINED: 'COMPLAINED',
  OPTED_OUT: 'UNSUBSCRIBED',
  BOUNCED: 'BOUNCED',
  MANUAL: 'UNSUBSCRIBED',
} as const satisfies Record<Reason, Subscription['status']>

/** Whether the person said it: only they can lift it. */
export const isByPerson = ({ reason }: SuppressionReason) => reason === 'COMPLAINED' || reason === 'OPTED_OUT'

/** The error for an address that must not be mailed or subscribed. */
export function createSuppressedError(strictest: SuppressionReason): AppError {
  const remedy = isByPerson(strictest) ? 'only its owner can opt in again' : 'an admin can lift the suppression'
  return conflict('opted_out', `The address is suppressed (${strictest.reason}): ${remedy}`)
}

/**
 * Whether the person may be asked to confirm: a confirmation would lift every reason. It does not lift a bounce or a
 * block.
 */
export const canConfirm = (reasons: readonly SuppressionReason[]) => reasons.every(isByPerson)
