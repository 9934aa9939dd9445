/** Runs `listen` against an API that fails, limits requests or deletes events. */
import { type ReceiverResponse, type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { parseCommandLine } from '../command-line.ts'
import { commands } from '../commands.ts'
import { describeError } from '../describe-error.ts'
import { startInProcess } from '../testing.ts'
import { listen } from './listen.ts'

let api: HttpReceiver
let receiver: HttpReceiver
beforeAll(async () => {
  receiver = await startHttpReceiver()
})
afterAll(() => receiver.close())
// A separate API for each test: a late request of the previous test would use up a response.
beforeEach(async () => {
  api = await startHttpReceiver()
  return () => api.close()
})

const ids = ['evt_01kag7m3v9e8fs2t4w6x8y0z1b', 'evt_01kag7m3v9e8fs2t4w6x8y0z2c', 'evt_01kag7m3v9e8fs2t4w6x8y0z3d']
const [first = '', second = '', third = ''] = ids
const page = (...events: string[]) =>
  json(200, {
    data: events.map((id) => ({ id, type: 'deal.won', timestamp: '2026-11-21T06:35:49.123Z', data: { id } })),
  })
const json = (status: number, body: object, headers: Record<string, string> = {}): ReceiverResponse => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})
let seen = 0
beforeEach(() => {
  seen = receiver.requests.length
})
const forwarded = () => receiver.requests.slice(seen).map(({ headers }) => headers['webhook-id'])

/** Returns these responses in order and repeats the last one. */
function respondWith(...responses: ReceiverResponse[]): void {
  api.respondWith(() => (responses.length > 1 ? responses.shift() : responses[0]))
}

async function listenUntil(count: number, { types = ['*'], json = false } = {}) {
  const options = { forward: receiver.url, types, json, api: api.url, key: 'rpk_test' }
  const running = startInProcess(listen, options)
  await waitUntil(() => forwarded().length >= count, {
    describe: () => `${count} events are forwarded: ${running.logged.join()}`,
  })
  running.stop()
  expect(await running.code).toBe(0)
  return running
}

test('--json prints one line of JSON per event', async () => {
  respondWith(page(first), page(second, third), page())
  const { printed } = await listenUntil(2, { json: true })
  const durationMs = expect.any(Number) as unknown
  expect(printed.map((line) => JSON.parse(line) as unknown)).toEqual(
    [second, third].map((id) => ({ id, type: 'deal.won', status: 200, error: null, durationMs })),
  )
})

test('after a 429 it waits as long as Retry-After says and prints nothing', async () => {
  const limited = json(429, { message: 'ThrottlerException: Too Many Requests' }, { 'retry-after': '1' })
  respondWith(page(first), limited, page(second, third), page())
  const { logged } = await listenUntil(2)
  expect(forwarded()).toEqual([second, third])
  expect(logged.filter((line) => /Retrying|Too Many/.test(line))).toEqual([])
})

test('retries while the API fails, and reports the failure once', async () => {
  const broken = json(503, { message: 'Service Unavailable' })
  respondWith(page(first), broken, { fault: 'disconnect' }, page(second), page())
  const { logged } = await listenUntil(1)
  expect(forwarded()).toEqual([second])
  expect(logged.filter((line) => line.includes('Retrying'))).toHaveLength(1)
  expect(logged).toContain('The API is available again.')
})

test('reports an outage that began before it, and starts when the API is available', async () => {
  respondWith({ fault: 'disconnect' }, page(first), page(second), page())
  const { logged } = await listenUntil(1)
  expect(logged[0]).toMatch(/^The API does not respond \(\w+\). Retrying ...$/)
  expect(logged[1]).toBe('The API is available again.')
})

test('requests only the events of the given types', async () => {
  respondWith(page(first), page(second), page())
  await listenUntil(1, { types: ['deal.won', 'deal.lost'] })
  const urls = api.requests.map(({ url }) => url)
  expect(urls[1]).toBe(`/events?limit=100&type=deal.won&type=deal.lost&after=${first}`)
})

test('reads the feed from its beginning if the last event has been deleted', async () => {
  const gone = json(400, { message: 'Event not found', issues: [{ path: 'after', message: 'Event not found' }] })
  respondWith(page(first), page(), gone, page(second), page())
  await listenUntil(1)
  expect(forwarded()).toEqual([second])
  const urls = api.requests.map(({ url }) => url)
  expect(urls).toContain('/events?limit=100&sort=createdAt')
})

test('reads an empty feed from its beginning', async () => {
  respondWith(page(), page(), page(first), page())
  await listenUntil(1)
  expect(forwarded()).toEqual([first])
})

test.each([
  ['a 401', json(401, { message: 'Missing or invalid credential' }), /^The API returned 401: Missing or invalid /],
  ['a page that is not JSON', { body: '<html></html>' }, /^GET .+: Unexpected token .+ is not valid JSON$/],
])('stops on %s with a message', async (_case, response, message) => {
  respondWith(response)
  const options = { forward: receiver.url, types: ['*'], json: false, api: api.url, key: 'rpk_test' }
  const { code, logged } = startInProcess(listen, options)
  expect(await code.catch(describeError)).toMatch(message)
  expect(logged).toEqual([])
})

const read = (...words: string[]) => parseCommandLine(commands, ['listen', '--forward', receiver.url, ...words])

test('--trigger suggests the type that was meant, and takes no secret', async () => {
  await expect(read('--trigger', 'contact.udpated')).rejects.toThrow(
    /^--trigger: .+ \(did you mean "contact.updated"\?\)/,
  )
  const options = { forward: receiver.url, types: ['*'], trigger: 'deal.won', secret: 'whsec_A', json: false }
  const { code } = startInProcess(listen, options)
  await expect(code).rejects.toThrow('--secret: is not possible with --trigger')
})

test('--trigger deletes its webhook if Ctrl-C ends it before the delivery', async () => {
  const webhook = { id: 'whk_1', url: receiver.url, secret: 'whsec_A' }
  const delivery = { id: 'dlv_1', eventId: first, createdAt: '2026-11-21T06:35:49.123Z', status: 'PENDING' }
  respondWith(json(200, { data: [], nextCursor: null }), json(201, webhook), json(202, delivery))
  const options = {
    forward: receiver.url,
    types: ['*'],
    trigger: 'deal.won',
    json: false,
    api: api.url,
    key: 'rpk_test',
  }
  const { code, stop } = startInProcess(listen, options)
  await waitUntil(() => api.requests.length > 3, { describe: 'the delivery is read' })
  stop()
  expect(await code).toBe(130)
  expect(api.requests.at(-1)).toMatchObject({ method: 'DELETE', url: '/webhooks/whk_1' })
})
