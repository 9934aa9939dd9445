/** A database with another first migration than every release has. */
import { createTestDatabase } from '@rapport/testing/postgres/database.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { runProcess } from '@rapport/testing/processes/processes.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'

const database = useForFile(async () => {
  const database = await createTestDatabase()
  await database.pool.query(`update drizzle.__drizzle_migrations set hash = repeat('0', 64)`)
  return database
})

const programs: [name: string, script: string, ...parameters: string[]][] = [
  ['migrate', 'packages/core/src/db/migrate.ts'],
  ['API', 'apps/api/src/main.ts'],
  ['CLI', 'apps/cli/src/main.ts', 'workspace', 'list'],
  // At the gate, `server-version.slow.test.ts` starts these on a database that they refuse.
  ['worker', 'apps/worker/src/main.ts'],
  ['doctor', 'apps/cli/src/main.ts', 'doctor'],
]

test.each(programs.slice(0, countRuns({ gate: 3, full: 5 })))(
  'on a database of before the first release, the %s exits with 78',
  async (_name, script, ...parameters) => {
    const addresses = { PUBLIC_URL: 'http://localhost', MAIL_FROM: 'hello@example.com', SMTP_URL: 'smtp://127.0.0.1:1' }
    const env = { DATABASE_URL: database.url, SECRET_KEY: 'k'.repeat(44), PORT: '0', ...addresses }
    const { code, stderr } = await runProcess({ script, parameters, env })
    expect(stderr).toContain(
      'This database was made before the first release and cannot be upgraded. Use an empty one.',
    )
    expect(code).toBe(78)
    const { rows } = await database.pool.query(
      'select (select count(*)::int from installation) as keys, (select count(*)::int from workers) as workers',
    )
    expect(rows).toEqual([{ keys: 0, workers: 0 }])
  },
)
