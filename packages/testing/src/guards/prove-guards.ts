/**
 * The program behind `pnpm prove guards`: removes each guard in turn, in a copy of the project, and runs the tests that
 * are named beside it. Fails if a guard is not noticed. `--only <text>`, which may be repeated, selects guards by their
 * name or file; `--tenth` selects those of today, a tenth of all.
 */
import { parseArgs } from 'node:util'
import { guards } from './guards.ts'
import { copyProject, type ProjectCopy } from './project-copy.ts'
import type { TestedGuard } from './tested-guard.ts'

const { values, positionals } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    tenth: { type: 'boolean' },
    copies: { type: 'string', default: '2' },
  },
  allowPositionals: true,
})
if (positionals.join(' ') !== 'guards')
  throw new Error('Usage: pnpm prove guards [--only <text of a name or file>] [--tenth] [--copies <number>]')

const today = Math.floor(Date.now() / 86_400_000)
const selected = guards.filter(
  ({ name, file }, index) =>
    (values.only?.some((text) => `${name} ${file}`.includes(text)) ?? true) &&
    (!values.tenth || (index + today) % 10 === 0),
)
const waiting = [...selected]
const survivors: string[] = []
await Promise.all(Array.from({ length: Math.min(Number(values.copies), selected.length) }, testGuards))
console.log(`${selected.length - survivors.length} of ${selected.length} guards noticed`)
for (const survivor of survivors) console.log(`not noticed: ${survivor}`)
process.exitCode = survivors.length === 0 && selected.length > 0 ? 0 : 1

async function testGuards(): Promise<void> {
  const copy = await copyProject()
  for (let guard = waiting.shift(); guard; guard = waiting.shift()) {
    const startedAt = performance.now()
    const outcome = await testGuard(copy, guard)
    if (!outcome.isNoticed) survivors.push(`${guard.name} (${guard.file}): ${outcome.text}`)
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    console.log(`${outcome.isNoticed ? 'noticed' : 'SURVIVED'}  ${guard.name}: ${outcome.text} (${seconds} s)`)
  }
  await copy.close()
}

/** A guard whose removal fails every test has broken the code rather than a promise, which proves nothing. */
async function testGuard(copy: ProjectCopy, guard: TestedGuard): Promise<{ isNoticed: boolean; text: string }> {
  const { passed, failed } = await copy.testWithout(guard)
  if (passed === 0) return { isNoticed: false, text: `all ${failed.length} tests fail, so the code is broken` }
  if (failed.length === 0) return { isNoticed: false, text: `${passed} tests of ${guard.tests.length} files pass` }
  return { isNoticed: true, text: `${failed.length} of ${passed + failed.length} tests fail, such as "${failed[0]}"` }
}
