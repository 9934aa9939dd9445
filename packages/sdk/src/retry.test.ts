import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createFakeClient, json, resultOf, rejectionOf, useFakeTime } from '../test/fake-fetch.ts'
import {
  ConflictError,
  ConnectionError,
  PreconditionFailedError,
  type RapportError,
  RateLimitError,
  ServerError,
} from './errors.ts'
import type { Rapport } from './rapport.ts'
import { sleep } from './retry.ts'

const noon = new Date('2026-11-23T12:00:00Z')

beforeEach(() => {
  useFakeTime(noon)
  vi.spyOn(Math, 'random').mockReturnValue(1)
})
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

const lost = () => new TypeError('fetch failed', { cause: new Error('other side closed') })
const calls: Record<string, (rapport: Rapport, options?: { ifMatch?: string }) => Promise<unknown>> = {
  GET: (rapport) => rapport.contacts.get('con_1'),
  POST: (rapport) => rapport.contacts.create({ email: 'ada@example.com' }),
  PUT: (rapport) => rapport.contacts.upsert({ email: 'ada@example.com' }),
  PATCH: (rapport, options) => rapport.contacts.update('con_1', { firstName: 'Ada' }, options),
  DELETE: (rapport) => rapport.contacts.delete('con_1'),
}

describe.each(Object.entries(calls))('%s', (_method, call) => {
  const outcomes = { 408: 408, 429: 429, 500: 500, 502: 502, 503: 503, 504: 504, 'a lost response': lost }
  test.each(Object.entries(outcomes))('is repeated after %s', async (_name, outcome) => {
    const failure = typeof outcome === 'number' ? () => json(outcome, {}) : outcome
    const { rapport, sent } = createFakeClient([failure, failure, () => json(200, { id: 'con_1' })])
    expect(await resultOf(call(rapport))).toMatchObject({ status: 'fulfilled', value: { id: 'con_1' } })
    expect(sent).toHaveLength(3)
    expect(new Set(sent.map(({ headers }) => JSON.stringify([...headers]))).size).toBe(1)
  })

  test.each([400, 401, 403, 404, 409, 410, 412, 413, 422])('is not repeated after %s', async (status) => {
    const { rapport, sent } = createFakeClient([() => json(status, {})])
    expect(await rejectionOf(call(rapport))).toMatchObject({ status })
    expect(sent).toHaveLength(1)
  })

  test('is repeated after a 409 with retry-after', async () => {
    const { rapport, sent } = createFakeClient([json(409, {}, { 'retry-after': '2' }), json(200, {})])
    await resultOf(call(rapport))
    expect(sent.map(({ atMs }) => atMs - Number(sent[0]?.atMs))).toEqual([0, 2_000])
  })
})

test('the attempts of a call share an idempotency key, and the next call has another', async () => {
  const failure = () => json(503, {})
  const { rapport, sent } = createFakeClient([failure, lost, () => json(201, {}), failure, () => json(201, {})])
  await resultOf(rapport.contacts.create({ email: 'ada@example.com' }))
  await resultOf(rapport.contacts.create({ email: 'ada@example.com' }))
  const keys = sent.map(({ headers }) => headers.get('idempotency-key'))
  expect(keys).toEqual([keys[0], keys[0], keys[0], keys[3], keys[3]])
  expect(keys[0]).not.toBe(keys[3])
})

test('onRetry is called before each retry, and a call may have its own', async () => {
  const reported: string[] = []
  const report = (name: string) => (error: RapportError) => void reported.push(`${name}: ${error.message}`)
  const failure = () => json(503, { message: 'Unavailable' })
  const outcomes = [failure, failure, () => json(200, {}), failure, () => json(200, {}), () => json(404, {})]
  const { rapport } = createFakeClient(outcomes, { onRetry: report('client') })
  await resultOf(rapport.contacts.get('con_1'))
  await resultOf(rapport.contacts.get('con_1', { onRetry: report('call') }))
  await resultOf(rapport.contacts.get('con_1'))
  expect(reported).toEqual(['client: 503 Unavailable', 'client: 503 Unavailable', 'call: 503 Unavailable'])
})

test('a body that the caller changes between two attempts is sent as it was', async () => {
  const contact = { email: 'ada@example.com', tags: ['vip'] }
  const first = structuredClone(contact)
  const { rapport, sent } = createFakeClient([() => (contact.tags.push('late'), json(503, {})), json(201, {})])
  await resultOf(rapport.contacts.create(contact))
  expect(sent.map(({ body }) => JSON.parse(body) as unknown)).toEqual([first, first])
})

describe('a POST that the API may execute twice', () => {
  const subscribe = (rapport: Rapport) => rapport.public.subscribe('lst_1', { email: 'ada@example.com' })

  test.each([408, 500, 502, 503, 504])('is not repeated after %s', async (status) => {
    const { rapport, sent } = createFakeClient([() => json(status, {})])
    expect(await rejectionOf(subscribe(rapport))).toMatchObject({ status })
    expect(sent).toHaveLength(1)
  })

  test('is not repeated after a lost response', async () => {
    const { rapport, sent } = createFakeClient([lost])
    expect(await rejectionOf(subscribe(rapport))).toBeInstanceOf(ConnectionError)
    expect(sent).toHaveLength(1)
  })

  test('is repeated after a 429, which means that it was not executed', async () => {
    const { rapport, sent } = createFakeClient([json(429, {}), json(202, {})])
    expect(await resultOf(subscribe(rapport))).toMatchObject({ status: 'fulfilled' })
    expect(sent).toHaveLength(2)
  })
})

describe('a PATCH with if-match', () => {
  const update = (rapport: Rapport) => rapport.contacts.update('con_1', { firstName: 'Ada' }, { ifMatch: '"1"' })

  test('is not repeated if it may have taken effect, as the repetition would fail', async () => {
    const { rapport, sent } = createFakeClient([lost, json(412, {})])
    expect(await rejectionOf(update(rapport))).toBeInstanceOf(ConnectionError)
    expect(sent).toHaveLength(1)
  })

  test('is repeated after a 429', async () => {
    const { rapport, sent } = createFakeClient([json(429, {}), json(412, {})])
    expect(await rejectionOf(update(rapport))).toBeInstanceOf(PreconditionFailedError)
    expect(sent).toHaveLength(2)
  })
})

describe('the delay', () => {
  const delaysAfter = async (failure: () => Response | Error, maxRetries: number) => {
    vi.setSystemTime(noon)
    const { rapport, sent } = createFakeClient(Array(maxRetries + 1).fill(failure), { maxRetries })
    await resultOf(rapport.contacts.get('con_1'))
    return sent.slice(1).map(({ atMs }, index) => atMs - Number(sent[index]?.atMs))
  }

  test('doubles up to eight seconds, with up to half of it taken off at random', async () => {
    expect(await delaysAfter(lost, 7)).toEqual([500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000])
    vi.mocked(Math.random).mockReturnValue(0)
    expect(await delaysAfter(lost, 7)).toEqual([250, 500, 1_000, 2_000, 4_000, 4_000, 4_000])
  })

  test.each([
    ['a number of seconds', '7', 7_000],
    ['the longest that is accepted', '60', 60_000],
    ['a date', 'Mon, 23 Nov 2026 12:00:09 GMT', 9_000],
    ['a date in the past', 'Mon, 23 Nov 2026 11:00:00 GMT', 500],
    ['zero', '0', 500],
    ['garbage', 'soon', 500],
    ['empty', '', 500],
  ])('follows retry-after if it is %s', async (_name, value, expectedMs) => {
    for (const status of [429, 503])
      expect(await delaysAfter(() => json(status, {}, { 'retry-after': value }), 1)).toEqual([expectedMs])
  })

  test.each(['61', '3600', '9'.repeat(20), 'Mon, 23 Nov 2026 12:01:01 GMT'])(
    'is more than a minute, and not waited for, if retry-after is %s',
    async (value) => {
      for (const [status, Class] of [
        [429, RateLimitError],
        [503, ServerError],
        [409, ConflictError],
      ] as const) {
        const { rapport, sent } = createFakeClient([json(status, {}, { 'retry-after': value })])
        const error = await rejectionOf(rapport.contacts.get('con_1'))
        expect(error).toBeInstanceOf(Class)
        expect((error as RateLimitError).retryAfterSeconds).toBeGreaterThan(60)
        expect(sent).toHaveLength(1)
      }
    },
  )
})

test('a window of the rate limit is waited out', async () => {
  const [limit, windowMs] = [3, 10_000]
  const times: number[] = []
  const respond = () => {
    const inWindow = times.filter((at) => Math.floor(at / windowMs) === Math.floor(Date.now() / windowMs))
    times.push(Date.now())
    if (inWindow.length < limit) return json(200, { id: 'con_1' })
    return json(429, {}, { 'retry-after': String(Math.ceil((windowMs - (Date.now() % windowMs)) / 1_000)) })
  }
  const { rapport, sent } = createFakeClient(Array(20).fill(respond))
  for (let count = 0; count < 8; count++)
    expect(await resultOf(rapport.contacts.get('con_1'))).toMatchObject({ status: 'fulfilled' })
  expect(sent).toHaveLength(8 + 2)
})

test.each([
  [0, 1],
  [1, 2],
  [5, 6],
  [-1, 1],
  [Number.NaN, 1],
])('maxRetries: %s means %s attempts', async (maxRetries, attempts) => {
  const ofClient = createFakeClient(Array(9).fill(lost), { maxRetries })
  await rejectionOf(ofClient.rapport.contacts.get('con_1'))
  expect(ofClient.sent).toHaveLength(attempts)
  const ofCall = createFakeClient(Array(9).fill(lost), { maxRetries: 7 })
  await rejectionOf(ofCall.rapport.contacts.get('con_1', { maxRetries }))
  expect(ofCall.sent).toHaveLength(attempts)
})

test('an aborted sleep rejects with the reason, and leaves no timer and no listener', async () => {
  const controller = new AbortController()
  const removed = vi.spyOn(controller.signal, 'removeEventListener')
  const finished = sleep(1_000, controller.signal)
  await vi.runAllTimersAsync()
  await finished
  expect(removed).toHaveBeenCalledTimes(1)
  const aborted = sleep(1_000, controller.signal)
  controller.abort('enough')
  await expect(aborted).rejects.toBe('enough')
  await expect(sleep(1_000, controller.signal)).rejects.toBe('enough')
  expect(vi.getTimerCount()).toBe(0)
})
