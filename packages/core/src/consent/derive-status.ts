/** The status of a subscription, from its own status and the suppressions of the address of its contact. */
import { type SQL, sql } from 'drizzle-orm'
import type { subscriptions } from '../db/schema/index.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'
import { coversList, isByPerson, type Reason, type SuppressionRow } from './suppression-rows.ts'

export type SubscriptionState = typeof subscriptions.$inferSelect
type Derived = Pick<SubscriptionState, 'status' | 'unsubscribedAt'>

export const isOpen = ({ status }: Pick<SubscriptionState, 'status'>) => status === 'PENDING' || status === 'CONFIRMED'

type Ending = Pick<SubscriptionState, 'status' | 'ownStatus' | 'unsubscribedAt'>

/** Whether a person has left a list, of which `rows` are those for it and for all: they said so, or the row is lost. */
export const hasLeft = (state: Ending | undefined, rows: readonly SuppressionRow[]): boolean =>
  rows.some(isByPerson) || (state !== undefined && isRowLost(state, rows))

/** Whether neither the own status nor a row explains the ending. A block explains only what it dates. */
export function isRowLost(state: Ending, rows: readonly SuppressionRow[]): boolean {
  const { status, ownStatus } = state
  if (isOpen(state) || (status === 'UNSUBSCRIBED' && ownStatus === 'REMOVED')) return false
  const explains = (row: SuppressionRow) =>
    status === 'UNSUBSCRIBED'
      ? isByPerson(row) || (row.reason === 'MANUAL' && isDatedBy(state, row))
      : row.reason === status
  return !rows.some(explains)
}

/** Whether the row has ended the subscription, by its moment. */
export const isDatedBy = (
  { unsubscribedAt }: Pick<Ending, 'unsubscribedAt'>,
  { firstSaidAt, createdAt }: SuppressionRow,
): boolean => unsubscribedAt !== null && [firstSaidAt, createdAt].includes(unsubscribedAt)

interface Cause {
  status: SubscriptionState['status']
  at: Timestamp | null
}

/** What ends the subscription: the first that applies in the table of the schema. */
function findCause(subscription: SubscriptionState, rows: readonly SuppressionRow[]): Cause | undefined {
  const { ownStatus, ownStatusAt, listId } = subscription
  const covering = rows.filter(coversList(listId))
  const momentsOf = (reason: Reason) => covering.filter((row) => row.reason === reason).map((row) => row.firstSaidAt)
  const complaints = momentsOf('COMPLAINED')
  if (complaints.length > 0) return { status: 'COMPLAINED', at: earliest(complaints) }
  const optOuts = [...momentsOf('OPTED_OUT'), ...(ownStatus === 'REMOVED' ? [ownStatusAt] : [])]
  if (optOuts.length > 0) return { status: 'UNSUBSCRIBED', at: earliest(optOuts) }
  if (momentsOf('BOUNCED').length > 0) return { status: 'BOUNCED', at: null }
  const blocks = momentsOf('MANUAL')
  return blocks.length > 0 ? { status: 'UNSUBSCRIBED', at: earliest(blocks) } : undefined
}

const earliest = (moments: readonly Timestamp[]) => moments.toSorted()[0] ?? null

interface Basis {
  rows: readonly SuppressionRow[]
  /** Those that the transaction takes back. */
  withdrawn: readonly SuppressionRow[]
  /** Those that were known before, as they were: of the transaction, or at an address that was left. */
  former: readonly SuppressionRow[]
  /** Whether a removal is taken back, which may have dated the ending. */
  wasRemoved: boolean
  /** Whether it is new, or the verb names it as one that may open, or be suspended only. */
  isNamed: boolean
}

/**
 * Narrows whatever it finds, and widens only what the verb names: without its row (a lost SECRET_KEY, a slip in a verb),
 * an ended subscription stays ended, and a bounce does not replace it.
 */
export function deriveStatus(
  current: SubscriptionState,
  { rows, withdrawn, former, wasRemoved, isNamed }: Basis,
): Derived {
  const cause = findCause(current, rows)
  const { status, unsubscribedAt } = current
  if (!cause)
    return isOpen(current) || isNamed
      ? { status: current.ownStatus as Derived['status'], unsubscribedAt: null }
      : { status, unsubscribedAt }
  // Only with its row does a complaint become less.
  if (status === 'COMPLAINED' && !withdrawn.some(({ reason }) => reason === 'COMPLAINED'))
    return { status, unsubscribedAt }
  // What dated it is gone, or has another date: what remains dates it, so that it can be taken back.
  const wasDated = wasRemoved || former.some((row) => isDatedBy(current, row))
  const isLost = wasDated && !rows.some((row) => isDatedBy(current, row))
  if (cause.status === 'BOUNCED') {
    const isBlocked = rows.some((row) => row.reason === 'MANUAL' && isDatedBy(current, row))
    const isReplaceable = isOpen(current) || status === 'BOUNCED' || isBlocked || isNamed
    return isReplaceable ? { status: 'BOUNCED', unsubscribedAt: null } : { status, unsubscribedAt }
  }
  const wasEnded = status === 'UNSUBSCRIBED' || status === 'COMPLAINED'
  return { status: cause.status, unsubscribedAt: wasEnded && !isLost ? (unsubscribedAt ?? cause.at) : cause.at }
}

/**
 * Whether mail may go to the contact of a subscription with this alias: the one condition of the snapshot of a campaign,
 * of its count, of the claim of a group, and of the question before a mail that waited. `status` says all.
 */
export const isMailable = (alias: string): SQL => sql`${sql.raw(alias)}.status = 'CONFIRMED'`
