/** Takes three minutes, and a busy machine disturbs it. So only a full run does it. */
import { execFile } from 'node:child_process'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { isFullRun } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'

test.runIf(isFullRun)('no hot path costs more processor time than its limit', { timeout: 900_000 }, async () => {
  const out = await mkdtemp(join(tmpdir(), 'rapport-guard-'))
  const parameters = [resolve(import.meta.dirname, 'main.ts'), '--guard', '--out', out]
  const { stdout } = await promisify(execFile)(process.execPath, parameters)
  expect(stdout.match(/\| met \|/g)).toHaveLength(7)
})
