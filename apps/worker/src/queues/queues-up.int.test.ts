/** `rapport_queues_up`, on which the alert RapportQueuesAway relies. */
import { registerRedisMetrics, createRegistry } from '@rapport/core/runtime/metrics.ts'
import { createTestRedis, type TestRedis, withRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import type { Redis } from 'ioredis'
import { expect, onTestFinished, test } from 'vitest'
import { openJobQueues } from '@rapport/core/work/job-queues.ts'
import { openQueueBackend } from './queue-backend.ts'
import { shortTimings as timings, silentLog, testWorkerConfig } from '../../test/fixtures.ts'
import { registerQueueMetrics } from './queue-metrics.ts'

/** Connects to the queues like a worker. Returns a function that reads the metrics about the queues and Redis. */
async function connect(redis: TestRedis) {
  const config = testWorkerConfig({ DATABASE_URL: 'postgres://127.0.0.1:1/not-used', REDIS_URL: redis.url })
  const backend = await openQueueBackend(config, { log: silentLog, timings })
  onTestFinished(() => backend.close())
  await backend.firstConnection
  const registry = createRegistry()
  registerQueueMetrics(registry, backend, openJobQueues(backend, { timings }).queueOf)
  if (backend.ping) registerRedisMetrics(registry, backend.ping)
  const valueOf = async (name: string) => (await registry.getSingleMetric(name)?.get())?.values[0]?.value
  return async () => ({ queues: await valueOf('rapport_queues_up'), redis: await valueOf('rapport_redis_up') })
}

async function startRedis(): Promise<TestRedis> {
  const redis = await createTestRedis()
  onTestFinished(() => redis.close())
  return redis
}

test.each<{ name: string; reject: (redis: Redis, other: TestRedis) => Promise<unknown>; accept: string[] }>([
  {
    name: 'full',
    reject: (redis) => redis.config('SET', 'maxmemory', '1mb'),
    accept: ['CONFIG', 'SET', 'maxmemory', '0'],
  },
  {
    name: 'a read-only replica',
    reject: async (redis, { url, port }) => {
      await withRedis(url, (primary) => primary.config('SET', 'repl-diskless-sync-delay', '0'))
      await redis.call('REPLICAOF', '127.0.0.1', port)
      const isInSync = async () => (await redis.info('replication')).includes('master_link_status:up')
      await waitUntil(isInSync, { describe: 'the replica has the data', timeoutMs: 20_000 })
    },
    accept: ['REPLICAOF', 'NO', 'ONE'],
  },
])('the queues are down while Redis is $name, and Redis is up', async ({ reject, accept }) => {
  const [redis, other] = [await startRedis(), await startRedis()]
  const read = await connect(redis)
  expect(await read()).toEqual({ queues: 1, redis: 1 })
  await withRedis(redis.url, (client) => reject(client, other))
  expect(await read()).toEqual({ queues: 0, redis: 1 })
  const [command = '', ...parameters] = accept
  await withRedis(redis.url, (client) => client.call(command, ...parameters))
  expect(await read()).toEqual({ queues: 1, redis: 1 })
})

test('reading whether the queues accept work leaves no keys in Redis', async () => {
  const redis = await startRedis()
  const read = await connect(redis)
  expect(await read()).toEqual({ queues: 1, redis: 1 })
  const findProbes = async () => {
    let keys: string[] = []
    await withRedis(redis.url, async (client) => (keys = await client.keys('*:probe')))
    return keys
  }
  await waitUntil(async () => (await findProbes()).length === 0, { describe: 'the keys have expired' })
})
