import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { type Database, openDatabase } from '../client.ts'
import { composedStatement, namedStatement } from './named-statement.ts'
import { webhooks, work } from '../schema/index.ts'
import { arrayOf, bigint, bool, int, jsonb, nullable, text, timestamptz, uuid } from './sql-types.ts'
import { newId, uuidOf } from '../../kernel/ids.ts'
import { transaction } from '../transaction.ts'
import { timestampAt } from '../../kernel/values/timestamps.ts'

let testDatabase: TestDatabase
let database: Database
beforeAll(async () => {
  testDatabase = await createTestDatabase()
  database = openDatabase(testDatabase.url, { applicationName: 'rapport test', maxConnections: 1, onError: () => {} })
})
afterAll(async () => {
  await database.close()
  await testDatabase.close()
})

const double = namedStatement('double', {
  isPrepared: true,
  params: { number: int },
  columns: { result: int },
  sql: ({ number }) => sql`select ${number} * 2 as result`,
})
const convert = namedStatement('convert', {
  params: {
    workspaceId: work.workspaceId,
    webhookIds: arrayOf(webhooks.id),
    at: timestamptz,
    texts: arrayOf(nullable(text)),
    missing: nullable(uuid),
  },
  columns: {
    workspaceId: work.workspaceId,
    webhookIds: arrayOf(webhooks.id),
    claimedAt: work.claimedAt,
    texts: arrayOf(nullable(text)),
    missing: nullable(uuid),
    count: bigint,
    isTrue: bool,
    settings: jsonb<{ a: number }>(),
  },
  sql: (param) => sql`
    select true as is_true, ${param.workspaceId} as workspace_id, ${param.webhookIds} as webhook_ids,
      ${param.at} as claimed_at, ${param.texts} as texts, ${param.missing} as missing, count(*) as count,
      '{"a":1}'::jsonb as settings
    from workspaces where id = ${param.workspaceId}`,
})
const addWorker = namedStatement('add a worker', {
  isPrepared: true,
  params: { id: uuid },
  sql: ({ id }) => sql`insert into workers (id, host) values (${id}, 'test')`,
})

test('values are converted as their columns convert them, in both directions', async () => {
  const values = {
    workspaceId: newId('wsp'),
    webhookIds: [newId('whk'), newId('whk')],
    at: timestampAt('0099-01-01T12:00:00.123Z'),
    texts: ['a "quoted", {text}', null, ''],
    missing: null,
  }
  const { at: claimedAt, ...others } = values
  const settings = { a: 1 }
  expect(await convert(database.db, values)).toEqual([{ ...others, claimedAt, settings, count: 0, isTrue: true }])
})

test('a prepared statement is planned once per connection', async () => {
  const { db } = database
  expect(await double(db, { number: 2 })).toEqual([{ result: 4 }])
  expect(await double(db, { number: 21 })).toEqual([{ result: 42 }])
  await transaction(db, async (db) => {
    expect(await double(db, { number: 3 })).toEqual([{ result: 6 }])
    await transaction(db, (db) => double(db, { number: 4 }))
  })
  const known = await db.execute(sql`select name from pg_prepared_statements`)
  expect(known.rows).toEqual([{ name: 'double' }])
})

test('the writes of a statement are rolled back with their transaction or savepoint', async () => {
  const [first, second, third] = [uuidOf(newId('wsp')), uuidOf(newId('wsp')), uuidOf(newId('wsp'))]
  const fail = () => Promise.reject(new Error('roll back'))
  await transaction(database.db, (db) => addWorker(db, { id: first }).then(fail)).catch(() => {})
  await transaction(database.db, async (db) => {
    expect(await addWorker(db, { id: second })).toBe(1)
    await transaction(db, (db) => addWorker(db, { id: third }).then(fail)).catch(() => {})
  })
  expect((await database.db.execute(sql`select id from workers`)).rows).toEqual([{ id: second }])
})

test('a failed statement rejects with its text and the error of PostgreSQL', async () => {
  const id = uuidOf(newId('wsp'))
  await addWorker(database.db, { id })
  await expect(addWorker(database.db, { id })).rejects.toMatchObject({
    query: expect.stringContaining('insert into workers') as string,
    cause: { code: '23505' },
  })
})

test('a statement without a value fails and names the value', async () => {
  await expect(double(database.db, {} as never)).rejects.toThrow('The statement "double" has no value for "number"')
})

test('a placeholder that is used twice is one parameter', async () => {
  const read = namedStatement('read parameters', {
    params: { name: text },
    columns: { a: text, b: text, c: text },
    sql: ({ name }) => sql`select ${name} as a, ${'x'}::text as b, ${name} || ${'x'}::text as c`,
  })
  expect(await read(database.db, { name: 'Ada' })).toEqual([{ a: 'Ada', b: 'x', c: 'Adax' }])
})

test('a composed statement returns the columns that it declares, in any order', async () => {
  const select = composedStatement('compose', { columns: { workspaceId: work.workspaceId, count: bigint } })
  const workspaceId = newId('wsp')
  const query = sql`select 7::bigint as count, ${uuidOf(workspaceId)}::uuid as workspace_id`
  expect(await select(database.db, query)).toEqual([{ workspaceId, count: 7 }])
})

test('two statements cannot have one name', () => {
  const declare = (number: number) =>
    namedStatement('once', { sql: () => sql`select from generate_series(1, ${sql.raw(String(number))})` })
  declare(1)
  expect(() => declare(2)).toThrow('Two statements are named "once"')
})
