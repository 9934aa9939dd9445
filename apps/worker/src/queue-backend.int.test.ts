import { createTestRedis, askRedis } from '@rapport/core/testing/redis.ts'
import { expect, test } from 'vitest'
import { chooseBackend } from './queue-backend.ts'
import { silentLog } from './testing.ts'

test('a Redis that is full is there, though nothing can be handed over to it', async () => {
  const redis = await createTestRedis()
  const backend = chooseBackend({ REDIS_URL: redis.url } as never, silentLog)
  try {
    await backend.readEpoch()
    await redis.flush()
    await askRedis(redis.url, (client) => client.config('SET', 'maxmemory', '1'))
    await expect(backend.readEpoch()).rejects.toThrow(/OOM/)
    await backend.ping?.()
  } finally {
    await backend.close()
    await redis.close()
  }
})
