/**
 * What `pnpm test` runs: every test, or those that the arguments name as they would for Vitest. Its last line on stdout
 * is "N passed, N failed", with ", N skipped" when there are such, whatever happened.
 */
import { resolve } from 'node:path'
import { parseCLI, startVitest, type Reporter, type Vitest } from 'vitest/node'

const projectRoot = resolve(import.meta.dirname, '../../..')

let vitest: Vitest | undefined
const listener: Reporter = { onInit: (started) => void (vitest = started) }

// On the way out, as Vitest exits by itself on Ctrl-C, and so that nothing can be printed after it.
process.once('exit', (code) => {
  const { passed, failed, skipped } = count()
  // What failed need not be a test: the services, an unhandled rejection, a name that matches no file.
  const failures = code === 0 ? failed : Math.max(failed, 1)
  console.log(`${passed} passed, ${failures} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
})

const { filter, options } = parseCLI(['vitest', 'run', ...process.argv.slice(2)])
const started = await startVitest(filter, {
  root: projectRoot,
  config: resolve(projectRoot, 'vitest.workspace.ts'),
  ...options,
  reporters: [options.reporters ?? 'default', listener].flat() as Reporter[],
})
await started.exit(true)

function count() {
  const totals = { passed: 0, failed: 0, skipped: 0 }
  for (const module of vitest?.state.getTestModules() ?? []) {
    const states = [...module.children.allTests()].map((test) => test.result().state)
    for (const state of states) if (state !== 'pending') totals[state] += 1
    // It could not be loaded, or a hook failed, without any test to show for it.
    if (module.state() === 'failed' && !states.includes('failed')) totals.failed += 1
  }
  return totals
}
