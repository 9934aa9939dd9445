import { AppError } from '../errors.ts'
import type { WorkspaceId } from '../ids.ts'
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
): <Result>(workspaceId: WorkspaceId, work: () => Promise<Result>) => Promise<Result> {
  const slots = createFairSlots(concurrency, () => maxPerWorkspace)
  return async (workspaceId, work) => {
    if (!(await slots.acquire(workspaceId, maxWaitMs)))
      throw new AppError('unavailable', message, { retryAfterSeconds: 1 })
    try {
      return await work()
    } finally {
      slots.release(workspaceId)
    }
  }
}
