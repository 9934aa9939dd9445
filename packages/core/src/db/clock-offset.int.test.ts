import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openDatabase } from './client.ts'
import { measureClockOffset, watchClock } from './clock-offset.ts'

const database = useTestDatabase()

test('the offset from a database on the same machine is within the error bound', async () => {
  const { offsetMs, errorMs } = await measureClockOffset(database.db)
  // Both clocks are rounded to milliseconds.
  expect(Math.abs(offsetMs)).toBeLessThanOrEqual(errorMs + 2)
})

test('each change between ok and off is logged once', async () => {
  const lines: string[] = []
  const write = (level: string) => (_details: object, message: string) => void lines.push(`${level}: ${message}`)
  let aheadMs = 0
  const log = { warn: write('warn'), info: write('info') }
  const clock = watchClock({ db: database.db, log, now: () => Date.now() + aheadMs })
  expect(await clock.read()).toMatchObject({ status: 'ok' })
  aheadMs = 60_000
  expect(await clock.read()).toMatchObject({ status: 'off' })
  expect(await clock.read()).toMatchObject({ status: 'off' })
  aheadMs = 0
  expect(await clock.read()).toMatchObject({ status: 'ok' })
  aheadMs = -60_000
  await Promise.all([clock.read(), clock.read()])
  expect(lines).toEqual([
    expect.stringMatching(/^warn: The clock of this process is \d+\.\d s ahead of/),
    "info: The clock of this process matches the database's again",
    expect.stringMatching(/^warn: The clock of this process is \d+\.\d s behind/),
  ])
})

test('a started watch measures immediately and every minute until it is stopped', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const lines: string[] = []
  const write = (_details: object, message: string) => void lines.push(message)
  let aheadMs = 3_600_000
  const clock = watchClock({ db: database.db, log: { warn: write, info: write }, now: () => Date.now() + aheadMs })
  clock.start()
  await waitUntil(() => lines.length === 1, { describe: 'the clock is reported as off' })
  aheadMs = 0
  vi.advanceTimersByTime(60_000)
  await waitUntil(() => lines.length === 2, { describe: 'the clock is reported as ok' })
  clock.stop()
  expect(vi.getTimerCount()).toBe(0)
})

test('the clock is unknown while the database is unavailable; nothing is logged', async () => {
  const unreachable = openDatabase('postgres://127.0.0.1:1/none', {
    applicationName: 'rapport test',
    onError: () => {},
  })
  const fail = () => expect.unreachable()
  const clock = watchClock({ db: unreachable.db, log: { warn: fail, info: fail } })
  expect(await clock.read()).toEqual({ status: 'unknown', offsetMs: null })
  await unreachable.close()
})
