import { once } from 'node:events'
import { createTestRedis, withRedis } from '@rapport/testing/redis/redis.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { startTestApi } from '../../../test/testing.ts'
import { openRedis } from './redis-connection.ts'
import { createRedisCounter } from './redis-counter.ts'

const server = useForFile(() => createTestRedis())

test('concurrent hits get the same counts as sequential hits', async () => {
  const redis = openRedis(server.url, () => {})
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
  const redis = openRedis(server.url, () => {})
  await once(redis, 'ready')
  // Commands of the API fail after 250 ms, those of `withRedis` later.
  await withRedis(server.url, (other) => other.config('RESETSTAT'))
  const shared = await startTestApi({ redis })
  await Promise.all(Array.from({ length: 200 }, () => shared.call('GET', '/contacts')))
  let stats = ''
  await withRedis(server.url, async (other) => (stats = await other.info('commandstats')))
  const asked = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)]
  const times = asked.reduce((sum, [, calls]) => sum + Number(calls), 0)
  expect(times).toBeGreaterThan(0)
  expect(times).toBeLessThan(20)
  await shared.close()
  redis.disconnect()
})
