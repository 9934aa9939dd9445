import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase } from './client.ts'
import { type Params, prepared, preparedSql } from './prepared-query.ts'
import { users } from './schema/index.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { transaction } from './transaction.ts'

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

const double = preparedSql<{ number: number }, { result: number }>('double', (param) => {
  return sql`select ${param('number')}::int * 2 as result`
})
const findUser = prepared('find a user', (db, param: Params<{ email: string }>) =>
  db
    .select()
    .from(users)
    .where(sql`${users.email} = ${param('email')}`),
)

test('a statement is prepared once per connection and takes new values each time', async () => {
  const { db } = database
  expect(await double(db, { number: 2 })).toEqual([{ result: 4 }])
  expect(await double(db, { number: 21 })).toEqual([{ result: 42 }])
  expect(await findUser(db, { email: 'missing@example.com' })).toEqual([])
  await transaction(db, async (db) => {
    expect(await double(db, { number: 3 })).toEqual([{ result: 6 }])
    await transaction(db, (db) => double(db, { number: 4 }))
  })
  const known = await db.execute(sql`select name from pg_prepared_statements order by name`)
  expect(known.rows).toEqual([{ name: 'double' }, { name: 'find a user' }])
})

test('a prepared statement in SQL returns the same values as an unprepared one', async () => {
  const times = ['timestamptz', 'timestamp', 'date'].map((type) => sql.raw(`now()::${type} as a_${type}`))
  const columns = sql`${sql.join(times, sql`, `)}, '1 hour'::interval as span, array[1.5] as numerics,
    array[now()] as moments, array[now()::timestamp] as local_moments, array[now()::date] as days,
    array['1 hour'::interval] as spans, 1::bigint as big, 1 as small, 1.5 as exact, '{"a":1}'::jsonb as record, null as none`
  const select = preparedSql('select every type', () => sql`select ${columns}`)
  await transaction(database.db, async (db) => {
    const { rows } = await db.execute(sql`select ${columns}`)
    expect(await select(db, {})).toEqual(rows)
  })
})

test('the writes of a prepared statement are rolled back with their transaction', async () => {
  await database.db.execute(sql`create table numbers (number int)`)
  const write = preparedSql<{ number: number }>('write', (param) => {
    return sql`insert into numbers values (${param('number')}) returning number`
  })
  await transaction(database.db, async (db) => {
    await write(db, { number: 1 })
    throw new Error('roll back the transaction')
  }).catch(() => {})
  await transaction(database.db, async (db) => {
    await write(db, { number: 2 })
    await transaction(db, (db) =>
      write(db, { number: 3 }).then(() => Promise.reject(new Error('roll back the savepoint'))),
    ).catch(() => {})
  })
  const { rows } = await database.db.execute(sql`select number from numbers`)
  expect(rows).toEqual([{ number: 2 }])
})

test('a prepared statement works after a migration has added a column', async () => {
  const { db } = database
  const find = () => findUser(db, { email: 'missing@example.com' })
  await find()
  await db.execute(sql`alter table users add column added text`)
  expect(await find()).toEqual([])
  await transaction(db, async (db) => expect(await findUser(db, { email: 'missing@example.com' })).toEqual([]))
})

test('only a placeholder that is used twice is one parameter, and equal values are not', async () => {
  const read = preparedSql<{ name: string }, object>(
    'read parameters',
    (param) =>
      sql`select ${param('name')}::text as a, ${'name'}::text as b, ${7}::int as c, ${7}::text as d, ${param('name')} as e`,
  )
  expect(await read(database.db, { name: 'Ada' })).toEqual([{ a: 'Ada', b: 'name', c: 7, d: '7', e: 'Ada' }])
})
