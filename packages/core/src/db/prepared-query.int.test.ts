import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Database, openDatabase } from './client.ts'
import { type Params, prepared } from './prepared-query.ts'
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

const findUser = prepared('find a user', (db, param: Params<{ email: string }>) =>
  db
    .select()
    .from(users)
    .where(sql`${users.email} = ${param('email')}`),
)

test('a query of the builder is prepared once per connection', async () => {
  const { db } = database
  expect(await findUser(db, { email: 'missing@example.com' })).toEqual([])
  await transaction(db, async (db) => expect(await findUser(db, { email: 'other@example.com' })).toEqual([]))
  const known = await db.execute(sql`select name from pg_prepared_statements`)
  expect(known.rows).toEqual([{ name: 'find a user' }])
})

test('a prepared statement works after a migration has added a column', async () => {
  const { db } = database
  const find = () => findUser(db, { email: 'missing@example.com' })
  await find()
  await db.execute(sql`alter table users add column added text`)
  expect(await find()).toEqual([])
  await transaction(db, async (db) => expect(await findUser(db, { email: 'missing@example.com' })).toEqual([]))
})
