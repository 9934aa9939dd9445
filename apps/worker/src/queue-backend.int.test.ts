import { createTestDatabase } from '@rapport/core/testing/database.ts'
import { waitUntil } from '@rapport/core/testing/wait.ts'
import pg from 'pg'
import { beforeAll, expect, onTestFinished, test } from 'vitest'

beforeAll(() => import('./queue-backend.ts'))

test('a connection that broke before anyone heard it keeps nothing else from its turn, and says so to who hears it now', async () => {
  const database = await createTestDatabase()
  onTestFinished(() => database.close())
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const ended = new Promise((resolve) => client.once('end', resolve))
  await database.pool.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  await ended

  let heard = 0
  client.on('error', () => (heard += 1))
  let hadTurn = false
  setImmediate(() => (hadTurn = true))
  await expect(client.query('select 1')).rejects.toThrow('not queryable')
  expect(hadTurn).toBe(true)
  await waitUntil(() => heard === 1, { describe: 'the late listener has heard' })
  // Whoever wants no promise is served as ever.
  await new Promise<void>((resolve) =>
    client.query('select 1', (error: Error | null) => resolve(expect(error).not.toBeNull())),
  )
})
