import { setTimeout as sleep } from 'node:timers/promises'
import { isDatabaseUnavailable } from '@rapport/core/kernel/errors.ts'

/**
 * For what must be recorded once it has happened: outlasts a database that is away for up to a day. A worker that is told
 * to stop meanwhile does not wait as long.
 */
export async function retryWhileDatabaseDown<Result>(record: () => Promise<Result>): Promise<Result> {
  const giveUpAt = Date.now() + 86_400_000
  for (let pauseMs = 50; ; pauseMs = Math.min(pauseMs * 2, 2_000)) {
    try {
      return await record()
    } catch (error) {
      if (!isDatabaseUnavailable(error) || Date.now() > giveUpAt) throw error
      await sleep(pauseMs)
    }
  }
}
