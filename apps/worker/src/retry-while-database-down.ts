import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseUnavailable } from '@rapport/core/db/database-errors.ts'

/**
 * Retries while the database is unavailable, for up to a day: an outcome must be recorded once its request or mail was
 * sent. During a shutdown, the worker waits for a minute at most.
 */
export async function retryWhileDatabaseDown<Result>(operation: () => Promise<Result>): Promise<Result> {
  const giveUpAt = Date.now() + 86_400_000
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
    try {
      return await operation()
    } catch (error) {
      if (!isDatabaseUnavailable(error) || Date.now() > giveUpAt) throw error
      await sleep(pauseMs)
    }
  }
}
