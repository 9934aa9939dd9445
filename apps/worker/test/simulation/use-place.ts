/** A database for the simulations of a test file. */
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { choicesOfSeed } from './choices.ts'
import { type Limits, type Run, simulate } from './simulate.ts'
import type { Place } from './world.ts'

/** Returns a function that runs a seed. */
export function useSimulation(): (seed: number, limits: Limits) => Promise<Run> {
  const database = useTestDatabase()
  const place = useForFile((): Place & { close(): Promise<void> } => {
    const { url } = database
    const idlePools: Place['idlePools'] = []
    const close = async () => {
      for (const pool of idlePools) await pool.database.close()
    }
    return { url, database, idlePools, close }
  })
  return (seed, limits) => simulate(place, choicesOfSeed(seed), limits)
}

const gates = {
  mails: 2,
  campaign: 1,
  cancellation: 1,
  drain: 2,
  consent: 1,
  import: 1,
  bounces: 1,
  deals: 2,
  emails: 1,
}

/** The seeds of a scenario. Those of a campaign have the most statements. */
export const seedsOf = (scenario: keyof typeof gates): number[] =>
  Array.from({ length: countRuns({ gate: gates[scenario], full: 350 }) }, (_, index) => index + 1)
