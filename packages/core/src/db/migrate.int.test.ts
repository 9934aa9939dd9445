import { sql } from 'drizzle-orm'
import { useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { hasPendingMigrations, migrate } from './migrate.ts'
import { createEmptyDatabase, createTestDatabase } from '@rapport/testing/postgres/database.ts'
import { createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'

const database = useForTest(createEmptyDatabase)

const appliedCount = async () => {
  const result = await database.db.execute(sql`select count(*)::int as count from drizzle.__drizzle_migrations`)
  return result.rows[0]?.['count']
}

test('concurrent migrations of an empty database apply each migration once', async () => {
  expect(await hasPendingMigrations(database.db)).toBe(true)
  await Promise.all(Array.from({ length: 4 }, () => migrate(database.url)))
  expect(await hasPendingMigrations(database.db)).toBe(false)
  const applied = await appliedCount()
  const { email } = await createTestContact(await createTestCtx(database.db))
  await Promise.all(Array.from({ length: 4 }, () => migrate(database.url)))
  expect(await appliedCount()).toBe(applied)
  expect((await database.db.execute(sql`select email from contacts`)).rows).toEqual([{ email }])
})

test('a database without the newest migration has pending migrations', async () => {
  await migrate(database.url)
  await database.db.execute(sql`update drizzle.__drizzle_migrations set created_at = created_at - 1
    where created_at = (select max(created_at) from drizzle.__drizzle_migrations)`)
  expect(await hasPendingMigrations(database.db)).toBe(true)
})

test('a database of a newer release has no pending migrations', async () => {
  await migrate(database.url)
  await database.db.execute(
    sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('newer', 9999999999999)`,
  )
  expect(await hasPendingMigrations(database.db)).toBe(false)
})

test('a database with another first migration is refused before anything is created', async () => {
  await migrate(database.url)
  await database.pool.query(`
    update drizzle.__drizzle_migrations set hash = repeat('0', 64), created_at = 1;
    drop schema public cascade;
    create schema public`)
  await expect(migrate(database.url)).rejects.toThrow(
    'This database was made before the first release and cannot be upgraded. Use an empty one.',
  )
  const { rows } = await database.pool.query(`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace
    union all select proname from pg_proc where pronamespace = 'public'::regnamespace`)
  expect(rows).toEqual([])
})

test('the migrations create every table of the schema', async () => {
  const template = await createTestDatabase()
  const tables = await template.db.execute(sql`
    select table_name from information_schema.tables where table_schema = 'public'`)
  await template.close()
  expect(tables.rows.length).toBeGreaterThan(15)
})

test('a migration fails immediately if it cannot reach the database', async () => {
  await expect(migrate('postgres://127.0.0.1:1/none')).rejects.toThrow('ECONNREFUSED')
})
