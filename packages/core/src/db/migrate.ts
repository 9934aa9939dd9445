import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as runMigrations } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'
import { ConfigError, readMigrateConfig } from '../runtime/config.ts'
import type { Db } from './client.ts'
import { maintainPartitionsWithRetries } from './partitions.ts'
import { isDirectUrlMissing, directUrlOf } from './pooler.ts'
import { adoptRestoredEvents } from './adopt-restored-events.ts'

const migrationsFolder = fileURLToPath(new URL('../../../../drizzle', import.meta.url))
/** Any number, the same in every process: two that migrate at once take turns. */
const migrationLockId = 7_277_678

/** Brings the database up to date. Safe to run from several processes at once, and again. */
export async function migrate(databaseUrl: string): Promise<void> {
  const connection = { connectionString: databaseUrl, application_name: 'rapport migrate' }
  // The session of the lock runs nothing else: a pool replaces a connection on which a statement failed.
  const lock = new pg.Client(connection)
  // A connection that breaks fails the next statement; without a listener its error would end the process.
  lock.on('error', () => {})
  const pool = new pg.Pool({ ...connection, max: 1 })
  try {
    await lock.connect()
    await lock.query('select pg_advisory_lock($1)', [migrationLockId])
    const db = drizzle(pool)
    await assertNoOldWorkers(db)
    await runMigrations(db, { migrationsFolder })
    await adoptRestoredEvents(db)
    await maintainPartitionsWithRetries(db)
  } finally {
    await pool.end()
    await lock.end()
  }
}

/**
 * Workers of a release without `webhook_drains` claim deliveries in another way: beside a new worker, they could send one
 * twice. Throws while one of them is alive.
 */
async function assertNoOldWorkers(db: Db): Promise<void> {
  const result = await db.execute<{ has_old_schema: boolean }>(
    sql`select to_regclass('workers') is not null and to_regclass('webhook_drains') is null as has_old_schema`,
  )
  if (!result.rows[0]?.has_old_schema) return
  const alive = await db.execute<{ host: string }>(
    sql`select distinct host from workers where seen_at > now() - interval '15 seconds'`,
  )
  if (alive.rows.length > 0) {
    const hosts = alive.rows.map(({ host }) => host).join(', ')
    throw new ConfigError(
      `A worker of the release before is running (${hosts}). Stop all workers and run the migration again: ` +
        'a worker that was killed counts as running for 15 seconds.',
    )
  }
}

/** Whether this program knows migrations that the database has not had. */
export async function hasPendingMigrations(db: Db): Promise<boolean> {
  const journal = JSON.parse(await readFile(`${migrationsFolder}/meta/_journal.json`, 'utf8')) as {
    entries: { when: number }[]
  }
  const newest = Math.max(...journal.entries.map((entry) => entry.when))
  const exists = await db.execute(sql`select to_regclass('drizzle.__drizzle_migrations') as name`)
  if (!exists.rows[0]?.['name']) return true
  const applied = await db.execute(sql`select max(created_at) as newest from drizzle.__drizzle_migrations`)
  return Number(applied.rows[0]?.['newest'] ?? 0) < newest
}

const directUrlMessage =
  'DATABASE_URL leads through a connection pooler, and a migration needs a session of its own: ' +
  'set DATABASE_DIRECT_URL to the server itself.'

async function main() {
  try {
    const config = readMigrateConfig()
    // The lock would stay behind with a connection of the pooler's, and the next migration wait for it without end.
    if (await isDirectUrlMissing(config)) throw new ConfigError(directUrlMessage)
    await migrate(directUrlOf(config))
    console.log('The database is up to date.')
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = error instanceof ConfigError ? 78 : 1
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
