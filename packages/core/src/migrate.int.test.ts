import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hasPendingMigrations, migrate } from './migrate.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from './testing/database.ts'
import { createTestContact, createTestCtx } from './testing/factories.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await createEmptyDatabase()
})
afterEach(() => database.close())

const appliedCount = async () => {
  const result = await database.db.execute(sql`select count(*)::int as count from drizzle.__drizzle_migrations`)
  return result.rows[0]?.['count']
}

test('four processes that migrate an empty database at once bring it up to date once, and again is harmless', async () => {
  expect(await hasPendingMigrations(database.db)).toBe(true)
  await Promise.all(Array.from({ length: 4 }, () => migrate(database.url)))
  expect(await hasPendingMigrations(database.db)).toBe(false)
  const applied = await appliedCount()
  const { email } = await createTestContact(await createTestCtx(database.db))
  await Promise.all(Array.from({ length: 4 }, () => migrate(database.url)))
  expect(await appliedCount()).toBe(applied)
  expect((await database.db.execute(sql`select email from contacts`)).rows).toEqual([{ email }])
})

test('a database that has had all but the newest migration is behind', async () => {
  await migrate(database.url)
  await database.db.execute(sql`update drizzle.__drizzle_migrations set created_at = created_at - 1
    where created_at = (select max(created_at) from drizzle.__drizzle_migrations)`)
  expect(await hasPendingMigrations(database.db)).toBe(true)
})

test('a database that a newer program migrated is not behind', async () => {
  await migrate(database.url)
  await database.db.execute(
    sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9999999999999)`,
  )
  expect(await hasPendingMigrations(database.db)).toBe(false)
})

test('the migrations make what the schema says: nothing is left to be generated', async () => {
  const template = await createTestDatabase()
  const tables = await template.db.execute(sql`
    select table_name from information_schema.tables where table_schema = 'public'`)
  await template.close()
  expect(tables.rows.length).toBeGreaterThan(15)
})

test('a migration that cannot reach the database says so, and does not hang', async () => {
  await expect(migrate('postgres://127.0.0.1:1/none')).rejects.toThrow('ECONNREFUSED')
})
