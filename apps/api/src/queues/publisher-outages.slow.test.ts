/** The publisher of the API while Redis is stopped or hangs. */
import { readApiConfig } from '@rapport/core/runtime/config.ts'
import { createTestDatabase } from '@rapport/testing/postgres/database.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createUnreliableRedis } from '@rapport/testing/redis/unreliable-redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { pino } from 'pino'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { startTestApi, testEnvironment } from '../../test/testing.ts'
import { openPublisher, publisherTimings } from './publisher.ts'

const redis = useForFile(createUnreliableRedis)
beforeEach(() => redis.start())

const timings = { ...publisherTimings, addTimeoutMs: 500, redisCommandTimeoutMs: 300, closeTimeoutMs: 200 }

/** Starts an API with a webhook, so that each contact has a delivery. */
async function start() {
  const database = await createTestDatabase()
  const environment = { REDIS_URL: redis.url }
  const api = await startTestApi({ database, environment })
  const logged: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void logged.push(line) })
  const config = readApiConfig({ ...testEnvironment(database.url), ...environment })
  const publisher = openPublisher(config, { db: database.db, log, timings })
  onTestFinished(async () => {
    await publisher.close()
    await api.close()
  })
  const { key } = await api.signUp()
  await api.create('/webhooks', key, { url: 'https://example.com/hook', eventTypes: ['*'] })
  let contacts = 0
  const createContact = () => api.create('/contacts', key, { email: `contact${(contacts += 1)}@example.com` })
  const countAdded = async () => (await publisher.published.get()).values.reduce((sum, { value }) => sum + value, 0)
  /** Creates contacts until a job is added. */
  async function waitUntilAdding() {
    const before = await countAdded()
    const isAdded = async () => {
      await createContact()
      return (await countAdded()) > before
    }
    await waitUntil(isAdded, { describe: 'a job is added' })
  }
  return { publisher, logged, createContact, countAdded, waitUntilAdding }
}

test.each(['stopped', 'hung'])('with Redis %s, requests succeed; then jobs are added again', async (fault) => {
  const { createContact, logged, countAdded, waitUntilAdding } = await start()
  await waitUntilAdding()
  if (fault === 'stopped') await redis.stop()
  else redis.pause()
  const before = await countAdded()
  for (let count = 0; count < 30; count++) await createContact()
  await waitUntil(() => logged.length > 0, { describe: 'the outage is logged' })
  for (let count = 0; count < 30; count++) await createContact()
  expect(await countAdded()).toBe(before)
  if (fault === 'stopped') await redis.start()
  else redis.resume()
  await waitUntilAdding()
})

test('an API that starts while Redis is stopped adds jobs once it runs', async () => {
  await redis.stop()
  const { createContact, countAdded, waitUntilAdding } = await start()
  await createContact()
  expect(await countAdded()).toBe(0)
  await redis.start()
  await waitUntilAdding()
})

test.each(['stopped', 'hung'])('with Redis %s, the publisher closes', async (fault) => {
  const { publisher, createContact, waitUntilAdding } = await start()
  await waitUntilAdding()
  if (fault === 'stopped') await redis.stop()
  else redis.pause()
  await createContact()
  await expect(publisher.close()).resolves.toBeUndefined()
  redis.resume()
})
