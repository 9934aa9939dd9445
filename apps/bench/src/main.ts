/** `pnpm bench [names] [--guard] [--rounds N] [--quick] [--minutes N] [--out folder]`: see docs/bench.md. */
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { benches, optionalBenches } from './benches.ts'
import { toChart } from './chart.ts'
import { closeInstallations } from './installation.ts'
import { guard } from './guard.ts'
import { type Bench, isMet } from './measurements.ts'
import { type Report, toMarkdown } from './report.ts'

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    minutes: { type: 'string' },
    quick: { type: 'boolean', default: false },
    guard: { type: 'boolean', default: false },
    out: { type: 'string', default: '.bench' },
    help: { type: 'boolean', default: false },
  },
})
const known: Record<string, Bench> = flags.guard ? { guard } : { ...benches, ...optionalBenches }

let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    isInterrupted = true
    void closeInstallations().finally(() => process.exit(1))
  })

const unknown = positionals.filter((name) => !(name in known))
if (flags.help || unknown.length > 0) {
  for (const name of unknown) console.error(`Unknown bench "${name}"`)
  console.log('Usage: pnpm bench [names] [--guard] [--rounds N] [--quick] [--minutes N (soak)] [--out folder]\n')
  for (const [name, { about }] of Object.entries(known)) console.log(`  ${name.padEnd(18)}${about}`)
  process.exit(unknown.length > 0 ? 1 : 0)
}

const log = (line: string) => console.error(line)
const options = {
  quick: flags.quick,
  rounds: Number(flags.rounds ?? (flags.quick ? 1 : 3)),
  minutes: Number(flags.minutes ?? (flags.quick ? 0.3 : 10)),
  log,
}
if (!(Number.isInteger(options.rounds) && options.rounds > 0 && options.minutes > 0)) {
  console.error('--rounds must be a positive integer, and --minutes a positive number')
  process.exit(1)
}
const report: Report = {
  startedAt: new Date().toISOString(),
  machine: {
    processors: `${cpus().length} × ${cpus()[0]?.model.trim()}`,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.version,
  },
  options: { rounds: options.rounds, quick: options.quick, minutes: options.minutes },
  benches: [],
}

for (const name of positionals.length > 0 ? positionals : Object.keys(flags.guard ? known : benches)) {
  if (isInterrupted) break
  log(`\n${name}: ${known[name]?.about}`)
  try {
    report.benches.push({ name, figures: (await known[name]?.measure(options)) ?? [] })
  } catch (error) {
    log(String(error instanceof Error ? error.stack : error))
    report.benches.push({ name, figures: [], failure: error instanceof Error ? error.message : String(error) })
    process.exitCode = 1
  }
  // Written after each bench, so that a later failure does not lose the results.
  await write(report)
}
console.log(`\n${toMarkdown(report)}`)
// Other benches show a missed target; the guard fails.
if (flags.guard && report.benches.some(({ figures }) => figures.some((figure) => isMet(figure) === false))) {
  process.exitCode = 1
}

async function write(report: Report) {
  await mkdir(flags.out, { recursive: true })
  await writeFile(join(flags.out, 'bench.json'), `${JSON.stringify(report, undefined, 2)}\n`)
  await writeFile(join(flags.out, 'bench.md'), toMarkdown(report))
  await writeFile(join(flags.out, 'bench.svg'), toChart(report))
}
