/** Derives the state of a receiver from the outcomes of attempts. The API shows it as the health of the webhook. */
import { sql } from 'drizzle-orm'
import type { Db } from '../../db/client.ts'
import { namedStatement } from '../../db/statements/named-statement.ts'
import { webhookHealth } from '../../db/schema/index.ts'
import { arrayOf, int, nullable, timestamptz } from '../../db/statements/sql-types.ts'
import { countUnreachable, getPauseMs } from './circuit-breaker.ts'
import type { DeliveryOutcome, EndedDelivery } from './delivery-outcome.ts'
import type { DrainClaim, KnownReceiver } from './drain-claim.ts'
import { type Timestamp, timestampAt, timestampNow } from '../../kernel/values/timestamps.ts'

/** How the outcomes of a round change the health of a webhook. */
interface ReceiverState {
  succeededAt: Timestamp | null
  failedAt: Timestamp | null
  /** Set if there are failures after the last success of the round. `failures` is the number of failed attempts. */
  failingSince: Timestamp | null
  failures: number
  /** The count in the database when the worker last read it. */
  knownUnreachableCount: number
  unreachableCount: number
  pausedUntil: Timestamp | null
  /** Whether the round shows if the receiver responds. */
  showsReachability: boolean
}

/** The outcomes of attempts, and of deliveries that could not be signed: the webhook is paused after both. */
const getHealthOutcomes = (ended: readonly EndedDelivery[]): DeliveryOutcome[] =>
  ended.map(({ outcome }) => outcome).filter(({ attemptedAt, status }) => attemptedAt !== null || status === 'PENDING')

/**
 * Returns the outcomes that show whether the receiver responds now. An attempt without a response counts only if it
 * started after `reachabilityKnownAt`. So a few slow requests among many successful ones do not open the circuit.
 */
export function getReachabilityOutcomes(
  { reachabilityKnownAt }: Pick<KnownReceiver, 'reachabilityKnownAt'>,
  ended: readonly EndedDelivery[],
): DeliveryOutcome[] {
  return getHealthOutcomes(ended).filter(
    ({ attemptedAt, responseStatus }) =>
      responseStatus !== null ||
      reachabilityKnownAt === undefined ||
      (attemptedAt ?? reachabilityKnownAt) >= reachabilityKnownAt,
  )
}

/** `ended` must be in the order in which the attempts ended. */
function computeReceiverState(
  known: KnownReceiver,
  ended: readonly EndedDelivery[],
  { now, firstPauseMs }: { now: Timestamp; firstPauseMs: number | undefined },
): ReceiverState {
  const outcomes = getHealthOutcomes(ended)
  const reachability = getReachabilityOutcomes(known, ended)
  const lastSuccess = outcomes.findLastIndex(({ status }) => status === 'SUCCEEDED')
  const failures = outcomes.slice(lastSuccess + 1)
  const unreachableCount = countUnreachable(known.unreachableCount, reachability)
  const pauseMs = unreachableCount > known.unreachableCount ? getPauseMs(unreachableCount, firstPauseMs) : 0
  return {
    succeededAt: lastSuccess === -1 ? null : now,
    failedAt: outcomes.some(({ status }) => status !== 'SUCCEEDED') ? now : null,
    failingSince: failures.length > 0 ? now : null,
    // Without attempts, the webhook is not disabled, and its owner is not warned about the receiver.
    failures: failures.filter(({ status }) => status === 'FAILED').length,
    knownUnreachableCount: known.unreachableCount,
    unreachableCount,
    pausedUntil: pauseMs > 0 ? timestampAt(Date.parse(now) + pauseMs) : null,
    showsReachability: reachability.length > 0,
  }
}

/** Updates the health of the webhooks of these outcomes, in the order of their ids. */
export async function updateHealth(db: Db, claim: DrainClaim, ended: readonly EndedDelivery[]): Promise<void> {
  if (ended.length === 0) return
  const now = timestampNow()
  const states = [...Map.groupBy(ended, ({ webhookId }) => webhookId)].map(([webhookId, ended]) => {
    const known = claim.receivers.get(webhookId) ?? { unreachableCount: 0 }
    return { webhookId, known, state: computeReceiverState(known, ended, { now, firstPauseMs: claim.firstPauseMs }) }
  })
  const column = <Key extends keyof ReceiverState>(key: Key) => states.map(({ state }) => state[key])
  const updated = await update(db, {
    workspaceId: claim.workspaceId,
    webhookIds: states.map(({ webhookId }) => webhookId),
    succeededAts: column('succeededAt'),
    failedAts: column('failedAt'),
    failingSinces: column('failingSince'),
    failures: column('failures'),
    knownCounts: column('knownUnreachableCount'),
    unreachableCounts: column('unreachableCount'),
    pausedUntils: column('pausedUntil'),
  })
  const counts = new Map(updated.map((row) => [row.webhookId, row.unreachableCount]))
  for (const { webhookId, known, state } of states) {
    const unreachableCount = counts.get(webhookId) ?? 0
    claim.receivers.set(webhookId, {
      ...known,
      unreachableCount,
      ...(state.showsReachability && { reachabilityKnownAt: now }),
    })
  }
}

/**
 * A condition: failures before the round still count. Not after a success, nor after a round whose deliveries could not
 * be signed, which can last for days: the receiver is disabled only for the time in which its attempts failed.
 */
const isSamePeriod = sql`excluded.last_success_at is null
  and (excluded.failure_count > 0 or excluded.last_failure_at is null)`

/**
 * If a user has reset the pause concurrently, it stays reset: then `unreachable_count` differs from the count that the
 * worker knows. Outcomes that do not change the count leave the pause. `failing_since` starts anew at the first failed
 * attempt: deliveries that could not be signed before it are no failure of the receiver. Skips webhooks that were purged.
 */
const update = namedStatement('update the health of webhooks', {
  isPrepared: true,
  params: {
    workspaceId: webhookHealth.workspaceId,
    webhookIds: arrayOf(webhookHealth.webhookId),
    succeededAts: arrayOf(nullable(timestamptz)),
    failedAts: arrayOf(nullable(timestamptz)),
    failingSinces: arrayOf(nullable(timestamptz)),
    failures: arrayOf(int),
    knownCounts: arrayOf(int),
    unreachableCounts: arrayOf(int),
    pausedUntils: arrayOf(nullable(timestamptz)),
  },
  columns: { webhookId: webhookHealth.webhookId, unreachableCount: int },
  sql: (param) => sql`
    with state as materialized (
      select * from unnest(${param.webhookIds}, ${param.succeededAts}, ${param.failedAts}, ${param.failingSinces},
        ${param.failures}, ${param.knownCounts}, ${param.unreachableCounts}, ${param.pausedUntils})
        as state (webhook_id, succeeded_at, failed_at, failing_since, failures, known_count, unreachable_count, paused_until))
    insert into webhook_health as health (workspace_id, webhook_id, last_success_at, last_failure_at, failing_since,
      failure_count, unreachable_count, paused_until)
    select w.workspace_id, w.id, succeeded_at, failed_at, failing_since, failures, unreachable_count, paused_until
    from state join webhooks w on w.workspace_id = ${param.workspaceId} and w.id = state.webhook_id
    order by w.id
    on conflict (workspace_id, webhook_id) do update set
      last_success_at = coalesce(excluded.last_success_at, health.last_success_at),
      last_failure_at = coalesce(excluded.last_failure_at, health.last_failure_at),
      failing_since = coalesce(
        case when excluded.last_success_at is null and (health.failure_count > 0 or excluded.failure_count = 0)
          then health.failing_since end, excluded.failing_since),
      failure_count = case when ${isSamePeriod} then health.failure_count else 0 end + excluded.failure_count,
      warned_at = case when ${isSamePeriod} then health.warned_at end,
      (unreachable_count, paused_until) = (
        select case when health.unreachable_count = known_count then excluded.unreachable_count else health.unreachable_count end,
          case when health.unreachable_count = known_count and excluded.unreachable_count <> known_count
            then excluded.paused_until else health.paused_until end
        from state where state.webhook_id = health.webhook_id limit 1)
    returning webhook_id, unreachable_count`,
})
