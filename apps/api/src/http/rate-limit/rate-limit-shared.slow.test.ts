/** The count that several API processes share, also while Redis hangs, crashes and recovers. */
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import type { StartedProcess } from '@rapport/testing/processes/processes.ts'
import { createUnreliableRedis, type UnreliableRedis } from '@rapport/testing/redis/unreliable-redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApiProcess } from '../../../test/api-process.ts'
import { countStatuses, freshAddress } from '../../../test/testing.ts'

let database: TestDatabase
let redis: UnreliableRedis
let processes: StartedProcess[]
let [first, second] = ['', '']
const start = () => startApiProcess(database.url, { REDIS_URL: redis.url })
beforeAll(async () => {
  ;[database, redis] = await Promise.all([createTestDatabase(), createUnreliableRedis()])
  const started = await Promise.all([start(), start()])
  processes = started.map(({ main }) => main)
  ;[first = '', second = ''] = started.map(({ url }) => url)
  // On a busy machine, a process may first count alone, because Redis did not respond in time.
  await waitUntil(isShared, { describe: 'both processes share their count' })
})
afterAll(async () => {
  for (const process of processes) process.kill()
  await Promise.all(processes.map(({ exited }) => exited))
  await redis.close()
  await database.close()
})

/** Calls without a credential, so that only the rate limit is used. Measures the time to the response. */
async function call(base: string, from: string, path = '/contacts') {
  const startedAt = performance.now()
  const method = path.startsWith('/auth') ? 'POST' : 'GET'
  const response = await fetch(base + path, { method, headers: { 'x-forwarded-for': from } })
  const text = await response.text()
  const tookMs = performance.now() - startedAt
  return { status: response.status, text, remaining: response.headers.get('x-ratelimit-remaining'), tookMs }
}

const repeat = (times: number, base: string, from: string) =>
  Promise.all(Array.from({ length: times }, () => call(base, from)))
const isReady = async (base: string, status: string) =>
  (await call(base, freshAddress(), '/ready')).text.includes(`"${status}"`)

/** The `commandTimeout` of `openRedis`. */
const commandTimeoutMs = 250

async function medianMs(): Promise<number> {
  const times = []
  for (let count = 0; count < 9; count++) times.push((await call(second, freshAddress())).tookMs)
  return times.toSorted((a, b) => a - b)[4] ?? Number.NaN
}

/** Whether both processes use the same count. */
async function isShared() {
  const from = freshAddress()
  await call(first, from)
  return (await call(second, from)).remaining === '98'
}

test('two processes share an exact count from the first request', async () => {
  const from = freshAddress()
  const remaining = []
  for (let count = 0; count < 10; count++) {
    remaining.push((await call(count % 2 ? first : second, from, '/auth/login')).remaining)
  }
  expect(remaining).toEqual(['9', '8', '7', '6', '5', '4', '3', '2', '1', '0'])
  for (const base of [first, second]) {
    expect(await call(base, from, '/auth/login')).toMatchObject({
      status: 429,
      text: '{"statusCode":429,"message":"ThrottlerException: Too Many Requests"}',
      remaining: '0',
    })
  }
})

test('of 200 concurrent requests to both processes, exactly the limit passes', async () => {
  const from = freshAddress()
  const responses = (await Promise.all([repeat(100, first, from), repeat(100, second, from)])).flat()
  expect(countStatuses(responses)).toEqual({ 401: 100, 429: 100 })
  const left = responses.filter(({ status }) => status === 401).map(({ remaining }) => Number(remaining))
  expect(left.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index))
})

const outages = {
  hangs: { begin: () => redis.pause(), end: () => redis.resume() },
  crashes: { begin: () => redis.stop(), end: () => redis.start() },
}
test.each(Object.entries(outages))(
  'when Redis %s, each process counts alone without delay, then shares again',
  async (_what, outage) => {
    const [known, sparing, unknown] = [freshAddress(), freshAddress(), freshAddress()]
    await Promise.all([repeat(30, first, known), repeat(30, second, known)])
    const lastKnown = await call(first, known)
    expect(lastKnown.remaining).toBe('39')
    await repeat(50, first, sparing)

    await outage.begin()
    // All requests concurrently, as in a busy process.
    const during = (await Promise.all([repeat(60, first, known), repeat(120, second, unknown)])).flat()
    expect(countStatuses(during.slice(0, 60))).toEqual({ 401: 39, 429: 21 })
    expect(countStatuses(during.slice(60))).toEqual({ 401: 100, 429: 20 })
    const after = [
      await call(first, known),
      await call(second, unknown),
      await call(first, unknown),
      await call(second, freshAddress()),
    ]
    expect(after.map(({ status }) => status)).toEqual([429, 429, 401, 401])
    expect((await call(first, sparing)).remaining).toBe('49')
    // The first requests wait until the command times out; later ones do not.
    expect(await medianMs()).toBeLessThan(commandTimeoutMs)
    expect(await isReady(first, 'degraded')).toBe(true)

    await outage.end()
    await waitUntil(isShared, { describe: 'both processes share a count again' })
    const from = freshAddress()
    const together = (await Promise.all([repeat(75, first, from), repeat(75, second, from)])).flat()
    expect(countStatuses(together)).toEqual({ 401: 100, 429: 50 })
    // A client over the limit stays over it: the end of an outage does not reset the count.
    expect([await call(first, known), await call(second, unknown)]).toMatchObject([{ status: 429 }, { status: 429 }])
    await waitUntil(() => isReady(first, 'ready'), { describe: 'the API is ready again' })
  },
)

test('a process started without Redis counts alone, and shares once Redis is up', async () => {
  await redis.stop()
  const { main: late, url: base } = await start()
  const from = freshAddress()
  expect(countStatuses(await repeat(110, base, from))).toEqual({ 401: 100, 429: 10 })
  await redis.start()
  const joins = async () => {
    const from = freshAddress()
    await call(first, from)
    return (await call(base, from)).remaining === '98'
  }
  await waitUntil(joins, { describe: 'the process shares the count' })
  late.kill()
  expect(await late.exited).toEqual({ code: 0, signal: null })
})
