import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Database, openDatabase } from './client.ts'
import { isDatabaseUnavailable } from './database-errors.ts'
import { AppError } from '../kernel/errors.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { startTestProxy, type TestProxy } from '@rapport/testing/network/proxy.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { transaction } from './transaction.ts'

const maxConnections = 2

let direct: TestDatabase
let proxy: TestProxy
beforeAll(async () => {
  direct = await createTestDatabase()
  proxy = await startTestProxy(direct.url)
})
afterAll(async () => {
  await proxy.close()
  await direct.close()
})

describe('a pool', () => {
  let database: Database
  let errors: Error[]
  beforeEach(() => {
    errors = []
    const onError = (error: Error) => void errors.push(error)
    database = openDatabase(proxy.url, { applicationName: 'rapport test', maxConnections, onError })
  })
  afterEach(async () => {
    proxy.cut(undefined)
    await database.close()
  })
  const runTransaction = () => transaction(database.db, (db) => db.execute(sql`select 1`))

  test('releases a connection that is lost at the start of a transaction', async () => {
    proxy.cut(/begin/)
    for (let attempt = 0; attempt <= maxConnections; attempt++) await expect(runTransaction()).rejects.toThrow()
    proxy.cut(undefined)
    await runTransaction()
  })

  test.each([
    ['at the start', /begin/, 'before'],
    ['in the middle', /select 'middle'/, 'before'],
    ['in the middle, with its response lost', /select 'middle'/, 'response'],
    ['at the commit', /commit/, 'before'],
    ['at the commit, with its response lost', /commit/, 'response'],
  ] as const)('a connection lost %s of a transaction counts as unavailable', async (_when, pattern, moment) => {
    proxy.cut(pattern, moment)
    const error = await transaction(database.db, async (db) => {
      await db.execute(sql`select 'middle'`)
      await db.execute(sql`select 'end'`)
    }).catch((error: unknown) => error)
    expect([isDatabaseUnavailable(error), error]).toEqual([true, error])
    proxy.cut(undefined)
    await runTransaction()
  })

  test('is not used before the database is verified, which each new connection tries', async () => {
    const results = [false, false, true]
    let calls = 0
    const verified = openDatabase(proxy.url, {
      applicationName: 'rapport test',
      maxConnections,
      onError: () => {},
      async verifyDatabase(db) {
        calls += 1
        await db.execute(sql`select 'verify'`)
        return results.shift() ?? false
      },
    })
    proxy.cut(/select 'verify'/)
    const error = await verified.db.execute(sql`select 1`).catch((error: unknown) => error)
    expect([isDatabaseUnavailable(error), error]).toEqual([true, error])
    proxy.cut(undefined)
    for (let connection = 0; connection < 5; connection++) {
      const client = await verified.pool.connect()
      await client.query('select 1')
      client.release(true)
    }
    expect(calls).toBe(1 + 3)
    await verified.close()
  })

  test('a connection whose caller gave up while it was prepared is not lost', async () => {
    const [isVerifying, isVerified] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let connections = 0
    const single = openDatabase(proxy.url, {
      applicationName: 'rapport test',
      maxConnections: 1,
      onError: () => {},
      async verifyDatabase() {
        connections += 1
        if (connections === 1) return false
        isVerifying.resolve()
        await isVerified.promise
        return true
      },
    })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(async () => {
      vi.useRealTimers()
      isVerified.resolve()
      await single.close()
    })
    const first = await single.pool.connect()
    const waiting = single.pool.connect()
    first.release(true)
    await isVerifying.promise
    vi.advanceTimersByTime(2_000)
    vi.useRealTimers()
    await expect(waiting).rejects.toThrow('timeout exceeded when trying to connect')
    isVerified.resolve()
    const next = await single.pool.connect()
    next.release()
    expect([connections, single.pool.totalCount]).toEqual([2, 1])
  })

  test('a connection lost during the rollback does not hide the original error', async () => {
    proxy.cut(/rollback/)
    const failing = transaction(database.db, async (db) => {
      await db.execute(sql`select 1`)
      throw new AppError('wrong_state', 'Already changed')
    })
    await expect(failing).rejects.toThrow('Already changed')
    proxy.cut(undefined)
    await runTransaction()
  })

  test('a failed savepoint leaves the outer transaction usable', async () => {
    const result = await transaction(database.db, async (db) => {
      await expect(transaction(db, (db) => db.execute(sql`select 1 / 0`))).rejects.toThrow()
      return db.execute(sql`select 42 as result`)
    })
    expect(result.rows).toEqual([{ result: 42 }])
  })

  test('a transaction fails if the error of a statement was caught', async () => {
    const failing = transaction(database.db, (db) => db.execute(sql`select 1 / 0`).catch(() => 'caught'))
    await expect(failing).rejects.toThrow('was rolled back')
    await runTransaction()
  })

  test('recovers after the server has terminated its connections', async () => {
    await Promise.all([runTransaction(), runTransaction()])
    await direct.db.execute(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
    await waitUntil(() => runTransaction(), { describe: 'the pool has replaced its connections' })
    await waitUntil(() => errors.length > 0, { describe: 'the errors are reported' })
  })
})

test('a new connection replans a statement after the table has grown', async () => {
  await direct.pool.query('create table growing (id int primary key) with (autovacuum_enabled = off)')
  await direct.pool.query('analyze growing')
  const settings = { plan_cache_mode: 'force_generic_plan' }
  const open = (lifetimeSeconds?: number) =>
    openDatabase(direct.url, {
      applicationName: 'rapport test',
      maxConnections: 1,
      settings,
      ...(lifetimeSeconds !== undefined && { lifetimeSeconds }),
      onError: () => {},
    })
  const [fresh, kept] = [open(0.02), open()]
  const readPlan = async ({ pool }: Database) => {
    // Both on one connection: a pool replaces one that is older than its lifetime.
    const client = await pool.connect()
    try {
      await client.query({ name: 'find', text: 'select from growing where id = $1', values: [1] })
      const { rows } = await client.query<Record<string, string>>('explain execute find (1)')
      return rows[0]?.['QUERY PLAN'] ?? ''
    } finally {
      client.release()
    }
  }
  expect([await readPlan(fresh), await readPlan(kept)]).toEqual(Array(2).fill(expect.stringContaining('Seq Scan')))
  // Neither VACUUM nor ANALYZE has run since.
  await direct.pool.query('insert into growing select generate_series(1, 10000)')
  await waitUntil(async () => (await readPlan(fresh)).includes('Index'), { describe: 'the plan has changed' })
  expect(await readPlan(kept)).toContain('Seq Scan')
  await Promise.all([fresh.close(), kept.close()])
})
