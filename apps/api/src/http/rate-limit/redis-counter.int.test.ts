import { once } from 'node:events'
import { connectRedis } from '@rapport/core/runtime/redis.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { startTestApi } from '../../../test/testing.ts'
import { createRedisCounter } from './redis-counter.ts'

// The tests connect by `connectRedis`: after the timeout of `openRedis`, 250 ms, the API would count alone.
const server = useForFile(() => createTestRedis())

test('concurrent hits get the same counts as sequential hits', async () => {
  const redis = connectRedis(server.url, {})
  await once(redis, 'ready')
  const count = createRedisCounter(redis, { isUnavailable: () => false })
  // Some clients more often than others, in irregular order.
  const hits = Array.from({ length: 500 }, (_, index) => `client ${(index * index) % 7}`)
  const hitsOf = (prefix: string) => hits.map((client) => ({ key: `{test}:${prefix} ${client}`, windowMs: 60_000 }))

  const oneByOne: number[] = []
  for (const hit of hitsOf('sequential')) oneByOne.push((await count(hit)).current)
  const together = await Promise.all(hitsOf('together').map(count))

  expect(together.map(({ current }) => current)).toEqual(oneByOne)
  for (const { ttl } of together) expect(ttl).toBeGreaterThan(30_000)
  redis.disconnect()
})

test('concurrent requests are counted in a few Redis commands', async () => {
  const redis = connectRedis(server.url, {})
  await once(redis, 'ready')
  await redis.config('RESETSTAT')
  const shared = await startTestApi({ redis })
  await Promise.all(Array.from({ length: 200 }, () => shared.call('GET', '/contacts')))
  const stats = await redis.info('commandstats')
  const asked = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)]
  const times = asked.reduce((sum, [, calls]) => sum + Number(calls), 0)
  expect(times).toBeGreaterThan(0)
  expect(times).toBeLessThan(20)
  await shared.close()
  redis.disconnect()
})
