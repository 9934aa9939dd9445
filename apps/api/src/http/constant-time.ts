import { setTimeout as sleep } from 'node:timers/promises'
import type { ApiTimings } from './server/api-timings.ts'

export type ConstantTime = Pick<ApiTimings, 'constantTimeStepMs'>

/**
 * Runs work whose duration depends on whether an email address is known, confirmed or already mailed. Resolves or
 * rejects only at a multiple of `constantTimeStepMs` after the start, which hides differences below 50 ms.
 */
export async function roundUpDuration<Result>(
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
