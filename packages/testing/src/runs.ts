/**
 * How much the randomized tests do. The gate runs a few fixed cases; `CI_FULL=1` runs many random ones. Test titles
 * contain the seed, and `TEST_SEED` replays it.
 */
import { inheritedEnvironment } from '@rapport/core/runtime/config.ts'

const { CI_FULL, TEST_SEED } = inheritedEnvironment()

export const isFullRun = CI_FULL === '1'

/** The number of runs of a randomized test. */
export const countRuns = ({ gate, full }: { gate: number; full: number }): number => (isFullRun ? full : gate)

/** The seed of a randomized test, by default `fixed` at the gate and a random one in a full run. */
export function chooseSeed(fixed: number): number {
  if (TEST_SEED) return Number(TEST_SEED)
  return isFullRun ? Math.floor(Math.random() * 2_147_483_646) + 1 : fixed
}

export type Random = () => number

/** Returns a generator of numbers from 0 to 1 that are the same for the same seed, from 1 to 2,147,483,646. */
export function createRandom(seed: number): Random {
  let state = seed
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}
