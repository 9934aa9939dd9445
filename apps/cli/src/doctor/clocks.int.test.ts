import { hostname } from 'node:os'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { deregisterWorker, recordHeartbeat } from '@rapport/core/work/worker-registry.ts'
import { expect, test } from 'vitest'
import { createClocksCheck } from './clocks.ts'
import { timestampAt } from '@rapport/core/kernel/values/timestamps.ts'

const database = useTestDatabase()

/** Runs the check with a clock that is this far ahead of the database's clock. */
const findAt = (aheadMs: number) =>
  createClocksCheck(() => Date.now() + aheadMs).run({
    config: {},
    invalid: new Set(),
    database,
    dnsServers: undefined,
    backupDirectory: undefined,
  })

test('a clock that agrees with the database is ok', async () => {
  expect(await findAt(0)).toMatchObject([{ level: 'ok', message: 'PostgreSQL and this machine agree' }])
})

test('a clock offset warns above five seconds and fails above one minute', async () => {
  const message = (offset: string) =>
    expect.stringMatching(
      new RegExp(`^The clock of this process is ${offset} the database's; ids and timestamps will be wrong$`),
    ) as unknown
  expect(await findAt(20_000)).toMatchObject([{ level: 'warn', message: message('\\d+\\.\\d s ahead of') }])
  expect(await findAt(-3_600_000)).toMatchObject([{ level: 'fail', message: message('\\d+\\.\\d s behind') }])
})

test.each([
  [0, []],
  [20_000, ['warn: a worker on HOST is 20 s ahead of PostgreSQL']],
  [-3_600_000, ['fail: a worker on HOST is 3600 s behind PostgreSQL']],
])('a worker with a clock that is off by %d ms is found', async (aheadMs, expected) => {
  const workerId = uuidOf(newId('bat'))
  await recordHeartbeat(database.db, workerId, timestampAt(Date.now() + aheadMs))
  const found = (await findAt(0)).map(({ level, message }) => `${level}: ${message}`)
  const ofWorkers = found.filter((text) => text.includes('worker')).map((text) => text.replace(hostname(), 'HOST'))
  expect(ofWorkers).toEqual(expected)
  await deregisterWorker(database.db, workerId)
})
