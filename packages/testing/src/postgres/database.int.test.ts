import { sql } from 'drizzle-orm'
import pg from 'pg'
import { expect, test } from 'vitest'
import { withAdminClient, createEmptyDatabase, createTestDatabase } from './database.ts'

const countTables = sql`select count(*)::int as tables from information_schema.tables where table_schema = 'public'`

test('a test database has every table and is isolated from others', async () => {
  const [first, second] = await Promise.all([createTestDatabase(), createTestDatabase()])
  await first.db.execute(sql`drop table work cascade`)
  await first.db.execute(sql`select from contacts`)
  expect(await second.db.execute(sql`select from work`)).toMatchObject({ rowCount: 0 })
  await Promise.all([first.close(), second.close()])
})

test('an empty database has no tables', async () => {
  const database = await createEmptyDatabase()
  expect((await database.db.execute(countTables)).rows).toEqual([{ tables: 0 }])
  await database.close()
})

test('close reports a connection left open and still drops the database', async () => {
  const database = await createEmptyDatabase()
  const forgotten = new pg.Client({ connectionString: database.url, application_name: 'forgetful' })
  const cut = new Promise((resolve) => forgotten.on('error', resolve))
  await forgotten.connect()
  await forgotten.query('select 42')
  await expect(database.close()).rejects.toThrow('left open:\n  forgetful (idle): select 42')
  await cut
  await expect(withAdminClient(database.url, async () => {})).rejects.toThrow('does not exist')
})
