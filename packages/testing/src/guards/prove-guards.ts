/**
 * The program behind `pnpm prove guards`: removes each guard in turn, in a copy of the project, and runs the tests that
 * are named beside it. Fails if a guard is not noticed. `--only <text>`, which may be repeated, selects guards by their
 * promise, name or file; `--tenth` selects those of today, a tenth of all. `--file`, `--without` and `--with` remove a text
 * of your own instead: the nearest tests that import the file must notice.
 */
import { parseArgs } from 'node:util'
import { findTestsOf } from '../changed-tests.ts'
import { guards } from './guards.ts'
import { copyProject, type ProjectCopy } from './project-copy.ts'
import type { TestedGuard } from './tested-guard.ts'

const { values, positionals } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    tenth: { type: 'boolean' },
    copies: { type: 'string', default: '2' },
    file: { type: 'string' },
    without: { type: 'string' },
    with: { type: 'string', default: '' },
  },
  allowPositionals: true,
})
if (positionals.join(' ') !== 'guards')
  throw new Error(
    'Usage: pnpm prove guards [--only <text of a promise, name or file>] [--tenth] [--copies <number>] [--file <path> --without <text> [--with <text>]]',
  )

const copies = Number(values.copies)
if (!Number.isInteger(copies) || copies < 1) throw new Error('--copies: must be a whole number from 1')

const today = Math.floor(Date.now() / 86_400_000)
const own = createOwnGuard(values)
const chosen = guards.filter(
  ({ promise, name, file }, index) =>
    (values.only?.some((text) => `${promise} ${name} ${file}`.includes(text)) ?? true) &&
    (!values.tenth || (index + today) % 10 === 0),
)
const selected = own ? [own] : chosen
const waiting = [...selected]
const survivors: string[] = []
let noticed = 0
const first = await copyProject()
await requirePassingTests(first).catch(async (error: unknown) => {
  await first.close()
  throw error
})
const others = Array.from({ length: Math.min(copies, selected.length) - 1 }, copyProject)
await Promise.all([first, ...others].map(async (copy) => testGuards(await copy)))
console.log(`${noticed} of ${selected.length} guards noticed`)
for (const survivor of survivors) console.log(`not noticed: ${survivor}`)
process.exitCode = noticed === selected.length && noticed > 0 ? 0 : 1

/** A guard of your own, with the tests that import its file. */
function createOwnGuard({ file, without: search, with: replacement }: typeof values): TestedGuard | undefined {
  if (file === undefined && search === undefined) return undefined
  if (!file || !search) throw new Error('--file and --without: both are needed')
  const tests = findTestsOf([file]).nearest
  if (tests.length === 0) throw new Error(`No fast test imports ${file}`)
  console.log(`Tests that import ${file}, the nearest first:\n${tests.join('\n')}`)
  return { promise: 'writes', name: 'your own', file, search, replacement, tests }
}

/** A test that fails anyway would notice every guard. */
async function requirePassingTests(copy: ProjectCopy): Promise<void> {
  const { failed, reasons } = await copy.test([...new Set(selected.flatMap(({ tests }) => tests))])
  if (failed.length === 0) return
  const list = failed.map((title, index) => [title, reasons[index]].filter(Boolean).join(': '))
  throw new Error(`These tests fail while no guard is missing: ${list.join('; ')}`)
}

async function testGuards(copy: ProjectCopy): Promise<void> {
  for (let guard = waiting.shift(); guard; guard = waiting.shift()) {
    const startedAt = performance.now()
    const { isNoticed, text } = await testGuard(copy, guard)
    if (isNoticed) noticed += 1
    else survivors.push(`${guard.name} (${guard.file}): ${text}`)
    const seconds = Math.round((performance.now() - startedAt) / 1000)
    console.log(`${isNoticed ? 'noticed' : 'SURVIVED'}  ${guard.name}: ${text} (${seconds} s)`)
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
