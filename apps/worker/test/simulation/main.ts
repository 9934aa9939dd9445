/** The program behind `pnpm simulate`, see CONTRIBUTING.md. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { registerHooks } from 'node:module'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { removeGuard } from '@rapport/testing/guards/remove-guard.ts'
import { choicesOfSeed } from './choices.ts'
import type { Mutant } from './mutants/mutant.ts'
import { mutants } from './mutants/mutants.ts'
import type { Run } from './simulate.ts'

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
  /** Uses one process, also for many seeds. */
  single: { type: 'boolean' },
} as const
const { values } = parseArgs({ options })
const root = resolve(import.meta.dirname, '../../../..')
const limits = { scenario: values.scenario, faults: values.faults?.split(',') }
const seedsPerMutant = 500

const [first, count] = [Number(values.seed), Number(values.seeds)]
process.once('disconnect', () => process.exit(1))
process.channel?.unref()
const isParent = count >= 100 && !values.single

if (values.mutants) process.exitCode = (await runMutants()) ? 0 : 1
else if (isParent) process.exitCode = (await runInParallel()) ? 0 : 1
else
  process.exitCode = (await runSeeds(values.mutant === undefined ? undefined : mutants[Number(values.mutant)])) ? 0 : 1

/** Runs the seeds, with the code of a mutant if there is one. Returns whether no promise was broken. */
async function runSeeds(mutant?: Mutant): Promise<boolean> {
  if (mutant) replaceSource(mutant)
  // After the hook, as a mutant changes modules that these import.
  const { simulate } = await import('./simulate.ts')
  const { shrink } = await import('./shrink.ts')
  const { openSimulationDatabase } = await import('./simulation-database.ts')
  const { stopRenderingThread } = await import('@rapport/core/rendering/rendering.ts')
  const place = await openSimulationDatabase()
  const totals = { seeds: 0, failed: 0 }
  const hash = createHash('sha256')
  for (let seed = first; seed < first + count && !(values.untilFailure && totals.failed > 0); seed++) {
    const run = await simulate(place, choicesOfSeed(seed), limits)
    const isBroken = run.broken.length > 0
    totals.seeds += 1
    hash.update(run.hash)
    if (isBroken) totals.failed += 1
    if (isBroken || count === 1) print(`seed ${seed}`, run)
    if (!isBroken || !values.shrink) continue
    print('shortened', await shrink((choices) => simulate(place, choices, { ...limits, scenario: run.scenario }), run))
  }
  console.log(`${totals.seeds} seeds from ${first}, ${totals.failed} failed, ${hash.digest('hex').slice(0, 16)}`)
  await stopRenderingThread()
  await place.close()
  return totals.failed === 0
}

function print(title: string, run: Run): void {
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
      return { ...loaded, source: removeGuard(Buffer.from(loaded.source as Uint8Array).toString(), mutant) }
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
      const found = /^seed (?!.*no promise was broken).*/m.exec(output)?.[0]
      if (!found) survivors.push(mutant.name)
      console.log(`${found ? 'found' : 'NOT FOUND'}: ${index} ${mutant.name}\n  ${found ?? output.slice(-400)}`)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, runNext))
  console.log(`${mutants.length} mutants, ${survivors.length} not found`)
  return survivors.length === 0
}

/** Runs the seed that found the mutant last, and then others. */
async function runMutant({ scenario, seed }: Mutant, index: number): Promise<string> {
  const parameters = ['--mutant', String(index), '--scenario', scenario, '--untilFailure', '--single']
  const again = await runChild([...parameters, '--seed', String(seed ?? 1)])
  if (again.code !== 0) return again.output
  return (await runChild([...parameters, '--seeds', String(seedsPerMutant)])).output
}

/** Runs the seeds in one process for each processor. Returns whether no promise was broken. */
async function runInParallel(): Promise<boolean> {
  const size = Math.ceil(count / availableParallelism())
  const parts = Array.from({ length: availableParallelism() }, (_, part) => {
    const range = ['--seed', String(first + part * size), '--seeds', String(Math.min(size, count - part * size))]
    return runChild([...process.argv.slice(2), ...range, '--single'], (text) => void process.stdout.write(text))
  })
  return (await Promise.all(parts)).every(({ code }) => code === 0)
}

/** The child ends with this process, as the IPC channel closes. */
async function runChild(parameters: string[], onOutput = (_text: string) => {}) {
  const child = spawn(process.execPath, [import.meta.filename, ...parameters], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const closed = Promise.withResolvers<number | null>()
  let output = ''
  const add = (data: Buffer) => {
    output += data.toString()
    onOutput(data.toString())
  }
  child.stdout?.on('data', add)
  child.stderr?.on('data', add)
  child.once('close', closed.resolve)
  return { code: await closed.promise, output }
}
