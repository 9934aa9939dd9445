import { AppError } from '../errors.ts'
import { createFairSlots } from './fair-slots.ts'

interface Options {
  /** How many calls of one workspace run at once. Default: as many as `createFairSlots` admits. */
  maxPerWorkspace?: number
  maxWaitMs: number
  message: string
}

/**
 * Runs at most `concurrency` calls at once; workspaces take turns. A call that waits for longer fails with `unavailable`.
 * Callers hold no database connection while they wait.
 */
export function limitInTurns(
  concurrency: number,
  { maxPerWorkspace = concurrency, maxWaitMs, message }: Options,
): <Result>(workspaceId: string, work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result> {
  const slots = createFairSlots<string>(concurrency, () => maxPerWorkspace)
  return async (workspaceId, work, signal) => {
    if (!(await slots.acquire(workspaceId, maxWaitMs, signal)))
      throw new AppError('unavailable', message, { retryAfterSeconds: 1 })
    try {
      return await work()
    } finally {
      slots.release(workspaceId)
    }
  }
}
