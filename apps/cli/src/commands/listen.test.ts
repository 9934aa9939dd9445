/** The feed as a listener reads it, from an API that behaves badly. */
import { type ReceiverResponse, type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startCommandHere } from '../testing.ts'
import { listen } from './listen.ts'

let api: HttpReceiver
let receiver: HttpReceiver
beforeAll(async () => {
  receiver = await startHttpReceiver()
})
afterAll(() => receiver.close())
// One for each test: what the listener of the test before asked last may come late, and would take an answer.
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

/** The API answers by these, one after the other, and the last one for ever. */
function answerWith(...answers: ReceiverResponse[]): void {
  api.respondWith(() => (answers.length > 1 ? answers.shift() : answers[0]))
}

async function listenUntil(count: number) {
  const options = { forward: receiver.url, types: ['*'], json: false, api: api.url, key: 'rpk_test' }
  const running = startCommandHere(listen, options)
  await waitUntil(() => forwarded().length >= count, { describe: () => `${count} came: ${running.told.join()}` })
  running.stop()
  expect(await running.code).toBe(0)
  return running
}

test('what is limited is asked again when it may be, and nothing is said of it', async () => {
  const limited = json(429, { message: 'ThrottlerException: Too Many Requests' }, { 'retry-after': '1' })
  answerWith(page(first), limited, page(second, third), page())
  const { told } = await listenUntil(2)
  expect(forwarded()).toEqual([second, third])
  expect(told.join('\n')).not.toContain('429')
})

test('an API that fails is asked again until it does not, and missed once', async () => {
  const broken = json(503, { message: 'Service Unavailable' })
  answerWith(page(first), broken, { fault: 'disconnect' }, page(second), page())
  const { told } = await listenUntil(1)
  expect(forwarded()).toEqual([second])
  expect(told.filter((line) => line.includes('Trying again'))).toHaveLength(1)
  expect(told).toContain('The API answers again.')
})

test('an event that was forgotten since it was read leads to the beginning of the feed, where all is newer', async () => {
  const gone = json(400, { message: 'Event not found', issues: [{ path: 'after', message: 'Event not found' }] })
  answerWith(page(first), page(), gone, page(second), page())
  await listenUntil(1)
  expect(forwarded()).toEqual([second])
  const before = api.requests.map(({ url }) => url)
  expect(before).toContain('/events?sort=createdAt&limit=100')
})

test('with nothing in the feed yet it is read from its beginning', async () => {
  answerWith(page(), page(), page(first), page())
  await listenUntil(1)
  expect(forwarded()).toEqual([first])
})

test('a refusal ends it, with the words of the API', async () => {
  answerWith(json(401, { message: 'Missing or invalid credential' }))
  const options = { forward: receiver.url, types: ['*'], json: false, api: api.url, key: 'rpk_test' }
  await expect(startCommandHere(listen, options).code).rejects.toThrow(
    'The API answered 401: Missing or invalid credential',
  )
})
