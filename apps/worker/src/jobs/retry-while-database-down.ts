import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseUnavailable } from '@rapport/core/db/database-errors.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import type { WorkerTimings } from '../process/worker-timings.ts'

/**
 * Retries while the database is unavailable, for up to a day: an outcome must be recorded once its request or mail was
 * sent. During a shutdown, the worker waits for a minute at most.
 */
export async function retryWhileDatabaseDown<Result>(
  { timings }: { timings: WorkerTimings },
  operation: () => Promise<Result>,
): Promise<Result> {
  const giveUpAt = Date.now() + 86_400_000
  for (let pauseMs = timings.minRetryPauseMs; ; pauseMs = Math.min(pauseMs * 2, timings.maxRetryPauseMs)) {
    try {
      return await operation()
    } catch (error) {
      if (!isTemporary(error) || Date.now() > giveUpAt) throw error
      await sleep(pauseMs)
    }
  }
}

/** Also if concurrent requests changed what the operation needed, see `changedConcurrently`. */
const isTemporary = (error: unknown) =>
  isDatabaseUnavailable(error) || (error instanceof AppError && error.code === 'unavailable')
