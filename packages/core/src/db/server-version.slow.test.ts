import { useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { createEmptyDatabase } from '@rapport/testing/postgres/database.ts'
import { runProcess } from '@rapport/testing/processes/processes.ts'

const database = useForTest(createEmptyDatabase)

/** The database reports the version of an older server: its own `current_setting` is found first. */
async function pretendVersion14() {
  const { rows } = await database.pool.query<{ name: string }>('select current_database() as name')
  await database.pool.query(`
    create schema older;
    create function older.current_setting(name text) returns text language sql as $$
      select case when name = 'server_version_num' then '140012' else pg_catalog.current_setting(name) end $$;
    alter database ${rows[0]?.name} set search_path = older, pg_catalog, public`)
}

test.each([
  ['migrate', 'packages/core/src/db/migrate.ts'],
  ['API', 'apps/api/src/main.ts'],
  ['worker', 'apps/worker/src/main.ts'],
  ['CLI', 'apps/cli/src/main.ts', 'workspace', 'list'],
  ['doctor', 'apps/cli/src/main.ts', 'doctor'],
])('on PostgreSQL 14, the %s exits with 78 and names the version', async (_name, script, ...parameters) => {
  await pretendVersion14()
  const addresses = { PUBLIC_URL: 'http://localhost', MAIL_FROM: 'hello@example.com', SMTP_URL: 'smtp://127.0.0.1:1' }
  const env = { DATABASE_URL: database.url, SECRET_KEY: 'k'.repeat(44), PORT: '0', ...addresses }
  const { code, stderr } = await runProcess({ script, parameters, env })
  expect(stderr).toContain('PostgreSQL 14 is too old: 15 or newer is needed')
  expect(code).toBe(78)
  expect((await database.pool.query(`select from pg_namespace where nspname = 'drizzle'`)).rowCount).toBe(0)
})
