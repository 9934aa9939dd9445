import { setTimeout as sleep } from 'node:timers/promises'

const stepMs = 50

/**
 * Does work whose duration would tell what is known of an address: new or confirmed, mailed or not. It ends, well or
 * not, on a full step of time after it began, and as good as all work needs one, so that nothing is left to measure.
 */
export async function inConstantTime<Result>(work: () => Promise<Result>): Promise<Result> {
  const startedAt = performance.now()
  try {
    return await work()
  } finally {
    const spentMs = performance.now() - startedAt
    await sleep(Math.ceil(spentMs / stepMs) * stepMs - spentMs)
  }
}
