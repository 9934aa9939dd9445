/** One run: a scenario, the faults that its choices select, an end without faults, and the promises that must hold. */
import { createHash } from 'node:crypto'
import { type Choices, pick, takeRest } from './choices.ts'
import { resetClaims } from './claims.ts'
import { createSimulation, faultKinds } from './create-simulation.ts'
import { scenarios } from './scenarios.ts'
import { createScheduler } from './scheduler.ts'
import type { TraceEntry } from './tasks.ts'
import { installVirtualTimers } from './virtual-timers-patch.ts'
import { createWorld, type Place } from './world.ts'

export interface Run {
  scenario: string
  trace: readonly TraceEntry[]
  /** The same for the same choices and the same code. */
  hash: string
  /** The broken promises. */
  broken: string[]
  /** With them and its scenario, it can be repeated. */
  choices: readonly number[]
}

/** What a run is limited to. */
export interface Limits {
  scenario?: string | undefined
  /** The kinds of faults. */
  faults?: readonly string[] | undefined
}

/** Runs one simulation in a migrated database that nothing else uses. */
export async function simulate(place: Place, allChoices: Choices, only: Limits = {}): Promise<Run> {
  const name = only.scenario ?? pick(allChoices, Object.keys(scenarios))
  // Those of a run whose scenario is given.
  const choices = takeRest(allChoices)
  const prepare = scenarios[name]
  if (!prepare) throw new Error(`There is no scenario "${name}": use ${Object.keys(scenarios).join(', ')}`)
  const { database } = place
  await database.pool.query('delete from workers')
  const scenario = await prepare(database, choices)
  const scheduler = createScheduler({ choices, monitor: database.pool })
  const uninstall = installVirtualTimers(scheduler)
  const world = createWorld({ place, scheduler, choices, refusals: scenario.refusals })
  const simulation = createSimulation({
    scenario,
    world,
    scheduler,
    database,
    choices,
    faults: only.faults ?? faultKinds,
  })
  try {
    await simulation.runWithFaults()
    const broken = [...(await simulation.runToEnd()), ...(await scenario.check(world, scheduler.trace))]
    const { trace } = scheduler
    return {
      scenario: name,
      trace,
      hash: createHash('sha256').update(JSON.stringify(trace)).digest('hex').slice(0, 16),
      broken,
      choices: choices.taken,
    }
  } finally {
    uninstall()
    await world.close()
    await resetClaims(database)
  }
}
