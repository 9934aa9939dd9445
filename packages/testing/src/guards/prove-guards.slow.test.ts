/** A tenth of the guards, by date, so that a full run proves all of them within ten days. */
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { isFullRun } from '../runs.ts'

test.runIf(isFullRun)('the tests notice each guard that is removed', { timeout: 3_600_000 }, async () => {
  const program = resolve(import.meta.dirname, 'prove-guards.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program, 'guards', '--tenth'])
  expect(stdout).toMatch(/^(\d+) of \1 guards noticed$/m)
})
