/**
 * The program behind `pnpm test`. Runs all tests, or those selected by arguments, which are those of Vitest. With the
 * argument "changed", runs the nearest fast tests of the files that differ from HEAD, or from the revision that follows,
 * and lints only these files. Its last line on stdout is always "N passed, N failed", with ", N skipped" if tests were
 * skipped.
 */
import { execFileSync } from 'node:child_process'
import { delimiter, resolve } from 'node:path'
import { parseCLI, startVitest, type Reporter, type Vitest } from 'vitest/node'
import { changedFilesVariable, findTestsOf } from './changed-tests.ts'

const projectRoot = resolve(import.meta.dirname, '../../..')

let vitest: Vitest | undefined
const listener: Reporter = { onInit: (started) => void (vitest = started) }

// Printed on exit, so that it is the last line, also when Vitest exits by itself on Ctrl-C.
process.once('exit', (code) => {
  const { passed, failed, skipped } = count()
  // A run can also fail without a failed test: a service, an unhandled rejection, a filter that matches no file.
  const failures = code === 0 ? failed : Math.max(failed, 1)
  console.log(`${passed} passed, ${failures} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
})

const [first, ...others] = process.argv.slice(2)
const parameters = first === 'changed' ? selectChangedTests(...others) : process.argv.slice(2)
const { filter, options } = parseCLI(['vitest', 'run', ...parameters])
const started = await startVitest(filter, {
  root: projectRoot,
  config: resolve(projectRoot, 'vitest.workspace.ts'),
  ...options,
  reporters: [options.reporters ?? 'default', listener].flat() as Reporter[],
})
await started.exit(true)

function selectChangedTests(revision = 'HEAD', ...parameters: string[]): string[] {
  const changed = listChangedFiles(revision)
  const { nearest, conventions, others } = findTestsOf(changed)
  console.log(`${changed.length} files differ from ${revision}; ${nearest.length} test files follow.`)
  if (others.length > 0) console.log(`Not run, as they are slow or use the change from afar: ${others.join(' ')}`)
  process.env[changedFilesVariable] = changed.join(delimiter)
  return [...nearest, ...conventions, '--project', 'unit', '--project', 'integration', ...parameters]
}

/** Returns the paths of files that differ from `revision` or are new, relative to the root. */
function listChangedFiles(revision: string): string[] {
  const list = (...parameters: string[]) =>
    execFileSync('git', parameters, { cwd: projectRoot, encoding: 'utf8' }).split('\n').filter(Boolean)
  return [...list('diff', '--name-only', revision), ...list('ls-files', '--others', '--exclude-standard')]
}

function count() {
  const totals = { passed: 0, failed: 0, skipped: 0 }
  for (const module of vitest?.state.getTestModules() ?? []) {
    const states = [...module.children.allTests()].map((test) => test.result().state)
    for (const state of states) if (state !== 'pending') totals[state] += 1
    // The module could not be loaded, or a hook failed, and none of its tests counts as failed.
    if (module.state() === 'failed' && !states.includes('failed')) totals.failed += 1
  }
  return totals
}
