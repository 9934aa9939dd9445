import { type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import type { UnreliableRedis } from '@rapport/testing/redis/unreliable-redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { countOpenWork, type Stack, startStack } from './stack.ts'

const contacts = 60
let stack: Stack
let redis: UnreliableRedis
let receiver: HttpReceiver
let key: string

beforeAll(async () => {
  // A low concurrency, so that most of the work waits in Redis.
  stack = await startStack('redis', { WORKER_CONCURRENCY: '2' })
  if (!stack.redis) throw new Error('Expected a stack with Redis')
  redis = stack.redis
})
beforeEach(async () => {
  ;({ key } = await stack.api.createWorkspace())
  receiver = await startHttpReceiver(() => ({ delayMs: 50 }))
  await stack.api.call('POST', '/webhooks', { key, body: { url: receiver.url, eventTypes: ['contact.created'] } })
  return () => receiver.close()
})
afterAll(() => stack.close())

test('while Redis is stopped, writes succeed; each delivery is received once later', async () => {
  await redis.stop()
  await createContacts()
  expect(receiver.requests).toHaveLength(0)
  await redis.start()
  await expectEachDeliveredOnce()
})

test('while Redis hangs, writes succeed; each delivery is received once later', async () => {
  redis.pause()
  await createContacts()
  redis.resume()
  await expectEachDeliveredOnce()
})

test('if Redis is flushed with waiting jobs, each delivery is received once', async () => {
  const answerAll = answerFirst(5)
  await createContacts()
  await receiver.waitFor(5)
  await redis.flush()
  expect(receiver.requests.length).toBeLessThan(contacts)
  answerAll()
  await expectEachDeliveredOnce()
})

test('if Redis restarts without its data, each delivery is received once', async () => {
  const answerAll = answerFirst(5)
  await createContacts()
  await receiver.waitFor(5)
  await redis.stop()
  await redis.start()
  expect(receiver.requests.length).toBeLessThan(contacts)
  answerAll()
  await expectEachDeliveredOnce()
})

/** Answers some requests, so that deliveries are left when Redis has lost its jobs. Returns what answers the others. */
function answerFirst(count: number): () => void {
  const others = Promise.withResolvers<undefined>()
  receiver.respondWith(() => (receiver.requests.length <= count ? undefined : others.promise))
  return () => others.resolve(undefined)
}

async function createContacts() {
  const created = await Promise.all(
    Array.from({ length: contacts }, (_, index) =>
      stack.api.call('POST', '/contacts', { key, body: { email: `person${index}@example.com` } }),
    ),
  )
  expect(created.map((response) => response.status)).toEqual(Array.from({ length: contacts }, () => 201))
}

async function expectEachDeliveredOnce() {
  await waitUntil(async () => (await countOpenWork(stack)) === 0, { describe: 'all work is done', timeoutMs: 60_000 })
  const emails = receiver.requests.map(
    ({ body }) => (JSON.parse(body.toString()) as { data: { email: string } }).data.email,
  )
  expect(new Set(emails).size).toBe(contacts)
  expect(emails).toHaveLength(contacts)
  const statuses = await stack.database.pool.query('select distinct status from deliveries')
  expect(statuses.rows).toEqual([{ status: 'SUCCEEDED' }])
}
