import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { hasPendingMigrations, migrate } from './migrate.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { migrateUntil } from '@rapport/testing/release-before/release-before.ts'

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

test('events and deliveries that are there are all there when they are partitioned, and go with their workspace', async () => {
  await migrateUntil(database.pool, '0014_running_in_earnest')
  await database.db.execute(sql`
    with workspace as (insert into workspaces (id, name) select uuidv7(), 'w' from generate_series(1, 2) returning id),
    webhook as (
      insert into webhooks (workspace_id, id, url, event_types, encrypted_secret)
      select id, uuidv7(), 'https://example.com', '{*}', '' from workspace returning workspace_id, id),
    event as (
      insert into events (workspace_id, id, type, data)
      select id, uuidv7(make_interval(days => -n)), 'contact.created', '{}' from workspace, generate_series(0, 29) n
      returning workspace_id, id)
    insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
    select e.workspace_id, uuidv7(), w.id, e.id, 'contact.created' from event e join webhook w using (workspace_id)`)
  const read = async (table: string) =>
    (await database.pool.query<{ row: string }>(`select t::text as row from ${table} t order by 1`)).rows
  const before = await Promise.all(['events', 'deliveries'].map(read))
  expect(before.map(({ length }) => length)).toEqual([60, 60])
  await migrate(database.url)
  expect(await Promise.all(['events', 'deliveries'].map(read))).toEqual(before)
  await database.db.execute(sql`delete from workspaces where id = (select workspace_id from events limit 1)`)
  expect((await Promise.all(['events', 'deliveries'].map(read))).map(({ length }) => length)).toEqual([30, 30])
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
