import pLimit from 'p-limit'
import { AppError } from './errors.ts'

export type RunLimited = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * Runs at most `concurrency` calls at a time, in the order in which they come. A call throws `unavailable` when
 * `maxWaiting` others wait already.
 */
export function limitConcurrency(
  concurrency: number,
  { maxWaiting = Number.POSITIVE_INFINITY, message = 'Too many at once, try again' } = {},
): RunLimited {
  const limit = pLimit(concurrency)
  return async (work) => {
    if (limit.activeCount + limit.pendingCount >= concurrency + maxWaiting) throw new AppError('unavailable', message)
    return limit(work)
  }
}
