import { isFullRun } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'
import { startRollingLoad } from './rolling-load.ts'
import { queueBackends } from './stack.ts'

// At the gate, a rolling upgrade and its rollback restart the same processes under the same load.
test.runIf(isFullRun).each(queueBackends)(
  'a rolling restart fails no request and interrupts no work, queues in %s',
  { timeout: 300_000 },
  async (backend) => {
    const load = await startRollingLoad(backend)
    for (let round = 0; round < 3; round++) await Promise.all([load.restartWorkers(), load.restartApis()])
    expect(await load.end()).toEqual([])
  },
)
