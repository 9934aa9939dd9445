/** `pnpm simulate`: see docs/simulation.md. */
import { parseArgs } from 'node:util'
import { simulate } from './simulate.ts'
import { choicesOfSeed } from './choices.ts'
import { openSimulationDatabase } from './simulation-database.ts'
import { stopRenderingThread } from '@rapport/core/campaigns/templates/rendering.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    scenario: { type: 'string' },
    trace: { type: 'boolean' },
    verbose: { type: 'boolean' },
  },
})
const place = await openSimulationDatabase()
const startedAt = performance.now()
let failed = 0
const first = Number(values.seed)
for (let seed = first; seed < first + Number(values.seeds); seed++) {
  const run = await simulate(place, choicesOfSeed(seed), values.scenario)
  if (values.trace) console.table(run.trace)
  if (run.broken.length > 0) failed += 1
  if (values.verbose || run.broken.length > 0 || values.seeds === '1') console.log(`seed ${seed} ${run.scenario} ${run.hash} ${run.trace.length} steps ${run.broken.join('; ') || 'ok'}`)
}
console.log(`${values.seeds} seeds, ${failed} failed, ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
await stopRenderingThread()
await place.close()
