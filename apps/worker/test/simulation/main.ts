/** The program behind `pnpm simulate`, see CONTRIBUTING.md. */
import { spawn } from 'node:child_process'
import { registerHooks } from 'node:module'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { choicesOfSeed } from './choices.ts'
import { type Mutant, mutants, mutate } from './mutants.ts'

const options = {
  /** The first seed. */
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string', default: '1' },
  scenario: { type: 'string' },
  /** The only kinds of faults, with commas. */
  faults: { type: 'string' },
  trace: { type: 'boolean' },
  /** After a failed seed, prints a shorter schedule that fails too. */
  shrink: { type: 'boolean' },
  /** Runs every mutant until it is found, or one of them by its number. */
  mutants: { type: 'boolean' },
  mutant: { type: 'string' },
  untilFailure: { type: 'boolean' },
} as const
const { values } = parseArgs({ options })
const root = resolve(import.meta.dirname, '../../../..')
const limits = { scenario: values.scenario, faults: values.faults?.split(',') }
const seedsPerMutant = 500

if (values.mutants) process.exitCode = (await runMutants()) ? 0 : 1
else process.exitCode = (await runSeeds(values.mutant === undefined ? undefined : mutants[Number(values.mutant)])) ? 0 : 1

/** Runs the seeds, with the code of a mutant if there is one. Returns whether no promise was broken. */
async function runSeeds(mutant?: Mutant): Promise<boolean> {
  if (mutant) replaceSource(mutant)
  // After the hook, as a mutant changes modules that these import.
  const { simulate } = await import('./simulate.ts')
  const { shrink } = await import('./shrink.ts')
  const { openSimulationDatabase } = await import('./simulation-database.ts')
  const { stopRenderingThread } = await import('@rapport/core/campaigns/templates/rendering.ts')
  const place = await openSimulationDatabase()
  const [first, count] = [Number(values.seed), Number(values.seeds)]
  let [ran, failed] = [0, 0]
  for (let seed = first; seed < first + count && !(values.untilFailure && failed > 0); seed++) {
    const run = await simulate(place, choicesOfSeed(seed), limits)
    ran += 1
    if (run.broken.length > 0) failed += 1
    if (run.broken.length > 0 || count === 1) print(`seed ${seed}`, run)
    if (run.broken.length === 0 || !values.shrink) continue
    print('shortened', await shrink((choices) => simulate(place, choices, { ...limits, scenario: run.scenario }), run))
  }
  console.log(`${ran} seeds, ${failed} failed`)
  await stopRenderingThread()
  await place.close()
  return failed === 0
}

function print(title: string, run: Awaited<ReturnType<typeof import('./simulate.ts').simulate>>): void {
  if (values.trace) console.table(run.trace)
  const result = run.broken.join('; ') || 'no promise was broken'
  console.log(`${title}: ${run.scenario}, ${run.trace.length} steps, ${run.hash}: ${result}`)
}

function replaceSource(mutant: Mutant): void {
  const target = pathToFileURL(resolve(root, mutant.file)).href
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      if (url !== target) return loaded
      return { ...loaded, source: mutate(String(loaded.source), mutant) }
    },
  })
}

/** Returns whether every mutant was found. Each runs in a process of its own, as its modules are loaded once. */
async function runMutants(): Promise<boolean> {
  const waiting = mutants.map((mutant, index) => ({ mutant, index }))
  const survivors: string[] = []
  async function runNext(): Promise<void> {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { mutant, index } = next
      const output = await runMutant(mutant, index)
      const found = /^seed .*/m.exec(output)?.[0]
      if (!found) survivors.push(mutant.name)
      console.log(`${found ? 'found' : 'NOT FOUND'}: ${index} ${mutant.name}\n  ${found ?? output.slice(-400)}`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, runNext))
  console.log(`${mutants.length} mutants, ${survivors.length} not found`)
  return survivors.length === 0
}

async function runMutant({ scenario }: Mutant, index: number): Promise<string> {
  const parameters = ['--mutant', String(index), '--scenario', scenario, '--untilFailure']
  const child = spawn(process.execPath, [import.meta.filename, ...parameters, '--seeds', String(seedsPerMutant)])
  const { promise, resolve } = Promise.withResolvers<void>()
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => void (output += String(data)))
  child.once('close', () => resolve())
  await promise
  return output
}
