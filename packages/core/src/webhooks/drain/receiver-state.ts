/** Derives the state of a receiver from the outcomes of attempts. The API shows it as the health of the webhook. */
import { type SQL, sql } from 'drizzle-orm'
import type { Params } from '../../db/prepared-query.ts'
import { countUnreachable, getPauseMs } from './circuit-breaker.ts'
import type { DeliveryOutcome, EndedDelivery } from './record-outcomes.ts'

/** How the outcomes of a round change the row of `webhook_drains`. */
export interface ReceiverState extends Record<string, unknown> {
  succeededAt: Date | null
  failedAt: Date | null
  /** Set if there are failures after the last success of the round. `failures` is the number of failed attempts. */
  failingSince: Date | null
  failures: number
  /** The count in the database when the worker last read it. */
  knownUnreachableCount: number
  unreachableCount: number
  pausedUntil: Date | null
}

/** The outcomes of attempts, and of deliveries that could not be signed: the webhook is paused after both. */
const getHealthOutcomes = (ended: readonly EndedDelivery[]): DeliveryOutcome[] =>
  ended.map(({ outcome }) => outcome).filter(({ attemptedAt, status }) => attemptedAt !== null || status === 'PENDING')

/**
 * Returns the outcomes that show whether the receiver responds now. An attempt without a response counts only if it
 * started after `assessedAt`. So a few slow requests among many successful ones do not open the circuit.
 */
export function getConclusiveOutcomes(
  { assessedAt }: { assessedAt?: Date },
  ended: readonly EndedDelivery[],
): DeliveryOutcome[] {
  return getHealthOutcomes(ended).filter(
    ({ attemptedAt, responseStatus }) =>
      responseStatus !== null || assessedAt === undefined || (attemptedAt ?? assessedAt) >= assessedAt,
  )
}

/** `ended` must be in the order in which the attempts ended. */
export function computeReceiverState(
  claim: { unreachableCount: number; assessedAt?: Date; firstPauseMs?: number },
  ended: readonly EndedDelivery[],
  now = new Date(),
): ReceiverState {
  const outcomes = getHealthOutcomes(ended)
  const lastSuccess = outcomes.findLastIndex(({ status }) => status === 'SUCCEEDED')
  const failures = outcomes.slice(lastSuccess + 1)
  const unreachableCount = countUnreachable(claim.unreachableCount, getConclusiveOutcomes(claim, ended))
  const pauseMs = unreachableCount > claim.unreachableCount ? getPauseMs(unreachableCount, claim.firstPauseMs) : 0
  return {
    succeededAt: lastSuccess === -1 ? null : now,
    failedAt: outcomes.some(({ status }) => status !== 'SUCCEEDED') ? now : null,
    failingSince: failures.length > 0 ? now : null,
    // Without attempts, the webhook is not disabled, and its owner is not warned about the receiver.
    failures: failures.filter(({ status }) => status === 'FAILED').length,
    knownUnreachableCount: claim.unreachableCount,
    unreachableCount,
    pausedUntil: pauseMs > 0 ? new Date(now.getTime() + pauseMs) : null,
  }
}

/**
 * Returns the assignments for an UPDATE of `webhook_drains drain`. If a user has reset the pause concurrently, it stays
 * reset: then `unreachable_count` differs from the count that the worker knows.
 */
export function assignReceiverState(param: Params<ReceiverState>): SQL {
  const succeededAt = sql`${param('succeededAt')}::timestamptz`
  const isKnown = sql`drain.unreachable_count = ${param('knownUnreachableCount')}::int`
  return sql`
    last_success_at = coalesce(${succeededAt}, drain.last_success_at),
    last_failure_at = coalesce(${param('failedAt')}::timestamptz, drain.last_failure_at),
    failing_since = coalesce(case when ${succeededAt} is null then drain.failing_since end, ${param('failingSince')}::timestamptz),
    failure_count = case when ${succeededAt} is null then drain.failure_count else 0 end + ${param('failures')}::int,
    warned_at = case when ${succeededAt} is null then drain.warned_at end,
    unreachable_count = case when ${isKnown} then ${param('unreachableCount')}::int else drain.unreachable_count end,
    paused_until = case when ${isKnown} then ${param('pausedUntil')}::timestamptz else drain.paused_until end`
}
