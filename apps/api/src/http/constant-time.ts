import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiTimings } from './server/api-timings.ts'

export type ConstantTime = Pick<ApiTimings, 'constantTimeStepMs'>

/**
 * Runs work whose duration depends on whether an email address is known, confirmed or already mailed. Resolves or
 * rejects only at a multiple of `constantTimeStepMs` after the start. Nearly all work takes one step of 50 ms, so the
 * duration reveals nothing.
 */
export async function inConstantTime<Result>(
  { constantTimeStepMs: stepMs }: ConstantTime,
  work: () => Promise<Result>,
): Promise<Result> {
  const startedAt = performance.now()
  try {
    return await work()
  } finally {
    const spentMs = performance.now() - startedAt
    await sleep(Math.ceil(spentMs / stepMs) * stepMs - spentMs)
  }
}
