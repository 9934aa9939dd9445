import { createTestRedis, askRedis } from '@rapport/testing/redis/redis.ts'
import { createTestDatabase } from '@rapport/testing/postgres/database.ts'
import { expect, onTestFinished, test } from 'vitest'
import { chooseBackend, openQueuePool } from './queue-backend.ts'
import { silentLog } from './testing.ts'

test('a Redis that is full is there, though nothing can be handed over to it', async () => {
  const redis = await createTestRedis()
  const backend = await chooseBackend({ REDIS_URL: redis.url } as never, silentLog)
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

test('an error of a queue connection reaches a listener that is attached after it, and ends no process', async () => {
  const database = await createTestDatabase()
  const pool = openQueuePool(database.url, () => {})
  onTestFinished(async () => {
    await pool.end()
    await database.close()
  })
  const client = await pool.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const ended = new Promise<void>((resolve) => client.once('end', resolve))
  await database.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  await ended
  const error = await new Promise<Error>((resolve) => client.on('error', resolve))
  expect(error.message).toMatch(/terminat/)
  client.release(true)
  expect((await pool.query('show search_path')).rows).toEqual([{ search_path: 'bullmq' }])
})
