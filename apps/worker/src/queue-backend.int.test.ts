import { createTestDatabase } from '@rapport/testing/postgres/database.ts'
import { expect, onTestFinished, test } from 'vitest'
import { openQueuePool } from './queue-backend.ts'

test('a listener that is attached after a connection error still receives the error', async () => {
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
