/** The worker for tests that start processes: it waits less than the real one, but longer than a busy machine stalls. */
import { runWorker } from '../src/process/run-worker.ts'
import { defaultTimings } from '../src/process/worker-timings.ts'

await runWorker({
  ...defaultTimings,
  heartbeatIntervalMs: 300,
  heartbeatTimeoutMs: 5_000,
  pollMs: 200,
  otherWorkersPollMs: 600,
  pollingWorkerTimeoutMs: 1_500,
  republishMs: 1_000,
  withheldMs: 500,
  addTimeoutMs: 2_000,
  redisCommandTimeoutMs: 1_500,
  jobLockMs: 5_000,
  stalledCheckMs: 500,
  retryDelayMs: { campaigns: 500, mail: 500, imports: 500, maintenance: 500 },
  connectTimeoutMs: 2_000,
  requestTimeoutMs: 3_000,
  firstPauseMs: 200,
  maxRetryPauseMs: 500,
  shutdownIdleMs: 300,
})
