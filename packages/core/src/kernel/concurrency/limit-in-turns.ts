import { channel } from 'node:diagnostics_channel'
import { AppError } from '../errors.ts'
import { createFairSlots } from './fair-slots.ts'

interface Options {
  /** How many calls of one workspace run at once. Default: as many as `createFairSlots` admits. */
  maxPerWorkspace?: number
  /** Whether a slot stays taken after a call for as long as the call took, so that others have half of the processor. */
  rests?: boolean
  maxWaitMs: number
  /** How many calls of one workspace may wait. Default: 40, as a message of a mail hook has a megabyte in memory. */
  maxWaiting?: number
  message: string
}

/**
 * Runs at most `concurrency` calls at once; workspaces take turns. A call that waits for longer than `maxWaitMs`, or
 * behind `maxWaiting` of its workspace, fails with `unavailable`.
 * Callers hold no database connection while they wait.
 */
export function limitInTurns(
  concurrency: number,
  { maxPerWorkspace = concurrency, rests = false, maxWaitMs, maxWaiting = 40, message }: Options,
): <Result>(workspaceId: string, work: () => Promise<Result>, signal?: AbortSignal) => Promise<Result> {
  const slots = createFairSlots<string>(concurrency, () => maxPerWorkspace, maxWaiting)
  return async (workspaceId, work, signal) => {
    turns.publish({ workspaceId })
    if (!(await slots.acquire(workspaceId, maxWaitMs, signal)))
      throw new AppError('unavailable', message, { retryAfterSeconds: 1 })
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      const release = () => slots.release(workspaceId)
      if (rests) setTimeout(release, performance.now() - startedAt)
      else release()
    }
  }
}

// ── For tests ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** A call that asks for its turn. */
export const turns = channel('rapport:turns')
