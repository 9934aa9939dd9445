import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from './client.ts'
import { AppError, isDatabaseUnavailable } from '../kernel/errors.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { startTestProxy, type TestProxy } from '@rapport/testing/network/proxy.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { transaction } from './transaction.ts'
import { listen } from './listen.ts'

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
  beforeEach(() => {
    database = openDatabase(proxy.url, { applicationName: 'rapport test', maxConnections, onError: () => {} })
  })
  afterEach(async () => {
    proxy.cut(undefined)
    await database.close()
  })
  const runTransaction = () => transaction(database.db, (db) => db.execute(sql`select 1`))

  test('gives every connection back that broke at the start of a transaction', async () => {
    proxy.cut(/begin/)
    for (let attempt = 0; attempt <= maxConnections; attempt++) await expect(runTransaction()).rejects.toThrow()
    proxy.cut(undefined)
    await runTransaction()
  })

  test.each([
    ['at its start', /begin/, 'before'],
    ['in the middle', /select 'middle'/, 'before'],
    ['in the middle, the answer lost', /select 'middle'/, 'answer'],
    ['at its commit', /commit/, 'before'],
    ['at its commit, the answer lost', /commit/, 'answer'],
  ] as const)('a connection that breaks %s of a transaction is known as such', async (_when, pattern, moment) => {
    proxy.cut(pattern, moment)
    const error = await transaction(database.db, async (db) => {
      await db.execute(sql`select 'middle'`)
      await db.execute(sql`select 'end'`)
    }).catch((error: unknown) => error)
    expect([isDatabaseUnavailable(error), error]).toEqual([true, error])
    proxy.cut(undefined)
    await runTransaction()
  })

  test('a connection that breaks while work has failed of its own does not hide why', async () => {
    proxy.cut(/rollback/)
    const failing = transaction(database.db, async (db) => {
      await db.execute(sql`select 1`)
      throw new AppError('conflict', 'Somebody was faster')
    })
    await expect(failing).rejects.toThrow('Somebody was faster')
    proxy.cut(undefined)
    await runTransaction()
  })

  test('a savepoint that fails leaves the transaction around it usable', async () => {
    const result = await transaction(database.db, async (db) => {
      await expect(transaction(db, (db) => db.execute(sql`select 1 / 0`))).rejects.toThrow()
      return db.execute(sql`select 42 as answer`)
    })
    expect(result.rows).toEqual([{ answer: 42 }])
  })

  test('a transaction whose failed statement was swallowed is an error, as nothing of it is kept', async () => {
    const failing = transaction(database.db, (db) => db.execute(sql`select 1 / 0`).catch(() => 'all is well'))
    await expect(failing).rejects.toThrow('nothing of it was kept')
    await runTransaction()
  })

  test('when the server ends its connections, the next call goes through', async () => {
    await Promise.all([runTransaction(), runTransaction()])
    await direct.db.execute(sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
    await waitUntil(() => runTransaction(), { describe: 'the pool has replaced its connections' })
  })
})

test('a plan does not outlive its connection: the next is for what has become of the table', async () => {
  await direct.pool.query('create table growing (id int primary key)')
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
    await pool.query({ name: 'find', text: 'select from growing where id = $1', values: [1] })
    const { rows } = await pool.query<Record<string, string>>('explain execute find (1)')
    return rows[0]?.['QUERY PLAN'] ?? ''
  }
  expect([await readPlan(fresh), await readPlan(kept)]).toEqual(Array(2).fill(expect.stringContaining('Seq Scan')))
  // Neither vacuum nor analyze has told of it.
  await direct.pool.query('insert into growing select generate_series(1, 10000)')
  await waitUntil(async () => (await readPlan(fresh)).includes('Index'), { describe: 'the plan is another' })
  expect(await readPlan(kept)).toContain('Seq Scan')
  await Promise.all([fresh.close(), kept.close()])
})

describe('a listener', () => {
  test('hears a notification, and listens again when its connection broke', async () => {
    let calls = 0
    let lastPayload: string | undefined
    const onNotify = (payload: string) => {
      calls += 1
      lastPayload = payload
    }
    const listener = listen(proxy.url, ['test_channel'], { onNotify, onError: () => {} })
    await waitUntil(() => calls === 1, { describe: 'it called once as it began' })
    expect(lastPayload).toBe('')
    await direct.db.execute(sql`select pg_notify('test_channel', 'room')`)
    await waitUntil(() => calls === 2, { describe: 'it heard the notification' })
    expect(lastPayload).toBe('room')
    await direct.db.execute(sql`
      select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'rapport listen'`)
    await waitUntil(() => calls === 3, { describe: 'it called again, as something may have been missed' })
    await direct.db.execute(sql`select pg_notify('test_channel', '')`)
    await waitUntil(() => calls === 4, { describe: 'it hears again' })
    await listener.close()
  })

  test('closes while it cannot connect', async () => {
    const errors: Error[] = []
    const listener = listen('postgres://127.0.0.1:1/none', ['test_channel'], {
      onNotify: () => {},
      onError: (error) => void errors.push(error),
    })
    await waitUntil(() => errors.length > 0, { describe: 'it has tried' })
    await listener.close()
  })

  test('leaves no connection behind that could not listen', async () => {
    proxy.cut(/listen test_channel/, 'answer')
    const errors: Error[] = []
    const listener = listen(proxy.url, ['test_channel'], {
      onNotify: () => {},
      onError: (error) => void errors.push(error),
    })
    await waitUntil(() => errors.length > 0, { describe: 'it has failed to listen' })
    proxy.cut(undefined)
    await listener.close()
  })
})
