/** Takes minutes, and longer if the recorded seeds find nothing after a change. So only a full run does it. */
import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { isFullRun } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'

test.runIf(isFullRun)('the simulation finds every removed guard', { timeout: 7_200_000 }, async () => {
  const program = resolve(import.meta.dirname, '../main.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [program, '--mutants'])
  expect(stdout).toContain(' 0 not found')
})
