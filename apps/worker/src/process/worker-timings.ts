/** The clocks of a worker process: its intervals and timeouts. A test passes shorter ones than it could wait for. */
import { heartbeatIntervalMs, heartbeatTimeoutMs } from '@rapport/core/work/worker-registry.ts'
import { defaultQueueTimings } from '@rapport/core/work/job-queues.ts'
import { republishMs } from '@rapport/core/work/publish.ts'
import { firstPauseMs } from '@rapport/core/webhooks/drain/circuit-breaker.ts'

export type WorkerTimings = Readonly<typeof defaultTimings>

export const defaultTimings = {
  // The worker registry
  heartbeatIntervalMs,
  /** A worker without a heartbeat for this long counts as crashed: another worker recovers its claims. */
  heartbeatTimeoutMs,

  // The poll
  /** How often the polling worker looks for work that is not published. */
  pollMs: 1_000,
  /** How often the other workers poll, in case the polling worker shuts down or cannot reach the queues. */
  otherWorkersPollMs: 3_000,
  /** A worker without a heartbeat for this long is not the polling worker: the next one is. */
  pollingWorkerTimeoutMs: 7_000,
  /** Published work that no job has claimed after this time is published again. */
  republishMs,
  /** How often the polling worker looks for mails of visitors that the budget of their workspace withholds. */
  withheldMs: 10_000,

  /** How long a job deletes what belongs to a deleted record before the jobs of other workspaces have their turn. */
  clearTurnMs: 5_000,

  // The queues
  ...defaultQueueTimings,
  /** The startup fails if PostgreSQL is unreachable, or another worker's migration holds the lock, for longer. */
  queueStartTimeoutMs: 10_000,
  /** BullMQ runs a job again if its process has not renewed its lock for this long. */
  jobLockMs: 15_000,
  stalledCheckMs: 5_000,
  scheduleCheckMs: 60_000,
  progressEveryMs: 500,

  // Webhooks
  connectTimeoutMs: 5_000,
  /** For a request with its response. */
  requestTimeoutMs: 10_000,
  /** Each name is queried twice. */
  nameQueryTimeoutMs: 1_500,
  /** How long a job drains a workspace before it is requeued, if the worker has no capacity for another drain. */
  drainTurnMs: 2_000,
  /** How soon a drain looks for new deliveries while no request ends. The time doubles with each look. */
  minDrainLookMs: 50,
  maxDrainLookMs: 2_000,
  /** How long the first outcome waits for others, so that they are recorded in one transaction. */
  outcomeBatchMs: 10,
  firstPauseMs,

  // Bounces
  /** For a connection, from its begin to its end; for each command; and for a message. */
  bounceConnectionMs: 300_000,
  bounceCommandMs: 30_000,
  bounceMessageMs: 120_000,
  /** How soon a worker takes over the port for bounces from another worker of the machine. */
  bouncePortRetryMs: 2_000,
  mailboxIntervalMs: 30_000,

  // While PostgreSQL is unavailable, outcomes are recorded again after a pause that doubles.
  minRetryPauseMs: 50,
  maxRetryPauseMs: 2_000,

  // The shutdown
  /** How long the worker must be idle before the shutdown continues without waiting for the queues. */
  shutdownIdleMs: 2_000,
  /** How long the shutdown waits for active jobs. */
  shutdownTimeoutMs: 60_000,
}
