import { setTimeout as sleep } from 'node:timers/promises'

const stepMs = 50

/**
 * Runs work whose duration depends on whether an email address is known, confirmed or already mailed. Resolves or
 * rejects only at a multiple of 50 ms after the start. Nearly all work takes one step, so the duration reveals nothing.
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
