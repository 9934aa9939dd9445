import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import { createTestDatabase } from '@rapport/testing/postgres/database.ts'
import { expect, onTestFinished, test } from 'vitest'
import { openQueueBackend, openQueuePool } from './queue-backend.ts'
import { shortTimings, silentLog, testWorkerConfig } from '../../test/fixtures.ts'

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
  await database.pool.query('select pg_terminate_backend($1::int)', [rows[0]?.pid])
  await ended
  const error = await new Promise<Error>((resolve) => client.on('error', resolve))
  expect(error.message).toMatch(/terminat/)
  client.release(true)
  expect((await pool.query('show search_path')).rows).toEqual([{ search_path: 'bullmq' }])
})

test('the queues recover from a PostgreSQL that swallows every statement', async () => {
  const database = await createTestDatabase()
  const proxy = await startTestProxy(database.url)
  const pool = openQueuePool(proxy.url, () => {}, { connectionTimeoutMs: 200, queryTimeoutMs: 200 })
  onTestFinished(async () => {
    proxy.swallow(false)
    proxy.cutAll()
    await pool.end()
    await proxy.close()
    await database.close()
  })
  await pool.query('select 1')
  proxy.swallow(true)
  await expect(pool.query('select 1')).rejects.toThrow('Query read timeout')
  await expect(pool.query('select 1')).rejects.toThrow(/timeout/i)
  proxy.swallow(false)
  const isServed = () =>
    pool.query('select 1').then(
      ({ rowCount }) => rowCount,
      () => 0,
    )
  await expect.poll(isServed).toBe(1)
})

test('the queues in PostgreSQL reject writes while its transactions are read-only', async () => {
  const database = await createTestDatabase()
  const backend = await openQueueBackend(testWorkerConfig({ DATABASE_URL: database.url }), {
    log: silentLog,
    timings: shortTimings,
  })
  onTestFinished(async () => {
    await backend.close()
    await database.close()
  })
  expect(await backend.probeWrites()).toMatchObject({ rowCount: 0 })
  const { rows } = await database.pool.query<{ name: string }>('select current_database() as name')
  await database.pool.query(`alter database "${rows[0]?.name}" set default_transaction_read_only to on`)
  // The setting applies to new connections.
  const ended = `select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'rapport queues' and datname = current_database()`
  await database.pool.query(ended)
  // Until the pool has noticed the end of its connection, that is the error.
  await expect.poll(() => backend.probeWrites().catch(String)).toContain('read-only transaction')
})

test('a start that fails leaves no connection open', async () => {
  const database = await createTestDatabase()
  const { rows } = await database.pool.query<{ name: string }>('select current_database() as name')
  await database.pool.query(`alter database "${rows[0]?.name}" set default_transaction_read_only to on`)
  const options = { log: silentLog, timings: shortTimings }
  const opening = openQueueBackend(testWorkerConfig({ DATABASE_URL: database.url }), options)
  await expect(opening).rejects.toThrow('read-only transaction')
  // It fails if a connection is left.
  await database.close()
})
