import pLimit from 'p-limit'
import { AppError } from '../errors.ts'

export type RunLimited = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * Runs at most `concurrency` calls concurrently, in the order of arrival. A call fails with `unavailable` if
 * `maxWaiting` calls are already waiting.
 */
export function limitConcurrency(
  concurrency: number,
  { maxWaiting = Number.POSITIVE_INFINITY, message = 'Too many concurrent requests; try again' } = {},
): RunLimited {
  const limit = pLimit(concurrency)
  return async (work) => {
    if (limit.activeCount + limit.pendingCount >= concurrency + maxWaiting) throw new AppError('unavailable', message)
    return limit(work)
  }
}
