import { countRuns } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'
import { startRollingLoad } from './rolling-load.ts'
import { chooseBackends } from './stack.ts'

const rounds = countRuns({ gate: 1, full: 3 })

test.each(chooseBackends({ gate: 'postgres' }))(
  'a rolling restart fails no request and interrupts no work, queues in %s',
  { timeout: 300_000 },
  async (backend) => {
    const load = await startRollingLoad(backend)
    for (let round = 0; round < rounds; round++) await Promise.all([load.restartWorkers(), load.restartApis()])
    expect(await load.end()).toEqual([])
  },
)
