/** Seeds that failed once, each with its story. `broken` is what still fails, because its cause is known and open. */
import type { Limits } from './simulate.ts'

interface KeptSeed extends Limits {
  seed: number
  story: string
  broken: string[]
}

export const keptSeeds: readonly KeptSeed[] = []
