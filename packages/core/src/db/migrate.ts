import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { DrizzleQueryError, sql } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as runMigrations } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'
import { rootMessageOf } from '../kernel/errors.ts'
import { ConfigError, readMigrateConfig } from '../runtime/config.ts'
import type { Db } from './client.ts'
import { maintainPartitionsWithRetries } from './partitions.ts'
import { requireDirectUrl } from './pooler.ts'
import { assertSupportedServer, createMissingUuidFunction } from './server-version.ts'
import { namedStatement } from './statements/named-statement.ts'
import { bigint, nullable, text } from './statements/sql-types.ts'
import { adoptRestoredEvents } from './adopt-restored-events.ts'

const migrationsFolder = fileURLToPath(new URL('../../../../drizzle', import.meta.url))
/** The key of the advisory lock that serializes concurrent migrations. */
const migrationLockId = 7_277_678

/** Applies all pending migrations. Safe to run repeatedly and from several processes concurrently. */
export async function migrate(databaseUrl: string): Promise<void> {
  const connection = { connectionString: databaseUrl, application_name: 'rapport migrate' }
  // The lock has its own connection: a pool would close the connection, and release the lock, after a failed statement.
  const lock = new pg.Client(connection)
  const pool = new pg.Pool({ ...connection, max: 1 })
  // A lost connection fails the next statement. Without a listener the error would end the process.
  lock.on('error', () => {})
  pool.on('error', () => {})
  try {
    await lock.connect()
    const db = drizzle(pool)
    await assertSupportedServer(db)
    await lock.query('select pg_advisory_lock($1)', [migrationLockId])
    await assertUpgradable(db)
    await createMissingUuidFunction(db)
    await runMigrations(db, { migrationsFolder })
    await adoptRestoredEvents(db)
    await maintainPartitionsWithRetries(db)
  } finally {
    await pool.end()
    await lock.end()
  }
}

const journal = JSON.parse(readFileSync(`${migrationsFolder}/meta/_journal.json`, 'utf8')) as {
  entries: { when: number; tag: string }[]
}
/**
 * The time of the newest migration of this release. Its record in the database has the same time. Read at the start of
 * the process: an upgrade may replace the files, and this process then still works with its own migrations.
 */
export const newestMigration = Math.max(...journal.entries.map(({ when }) => when))

/** The hash of the first migration, as Drizzle stores it: the identity of a database. It never changes once a release is tagged. */
const firstMigrationHash = createHash('sha256')
  .update(readFileSync(`${migrationsFolder}/${journal.entries[0]?.tag}.sql`))
  .digest('hex')

/** A database with another first migration. Its tables are not those of any release, so nothing is read or written. */
export class FormerDatabaseError extends ConfigError {
  constructor() {
    super('This database was made before the first release and cannot be upgraded. Use an empty one.')
  }
}

/** Throws a FormerDatabaseError unless this is the hash of the first migration of all releases. */
export function assertFirstMigration(hash: string): void {
  if (hash !== firstMigrationHash) throw new FormerDatabaseError()
}

/** Throws a FormerDatabaseError if the first migration of the database is another one. An empty database has none. */
export async function assertUpgradable(db: Db): Promise<void> {
  const [table] = await findMigrationsTable(db)
  const [first] = table?.name ? await findFirstMigration(db) : []
  if (first) assertFirstMigration(first.hash)
}

/** Whether this release has migrations that the database does not have yet. */
export async function hasPendingMigrations(db: Db): Promise<boolean> {
  const [table] = await findMigrationsTable(db)
  if (!table?.name) return true
  const [applied] = await findNewestMigration(db)
  return (applied?.newest ?? 0) < newestMigration
}

const findMigrationsTable = namedStatement('find the table of migrations', {
  columns: { name: nullable(text) },
  sql: () => sql`select to_regclass('drizzle.__drizzle_migrations')::text as name`,
})

const findFirstMigration = namedStatement('find the first migration', {
  columns: { hash: text },
  sql: () => sql`select hash from drizzle.__drizzle_migrations order by id limit 1`,
})

const findNewestMigration = namedStatement('find the newest migration', {
  columns: { newest: nullable(bigint) },
  sql: () => sql`select max(created_at) as newest from drizzle.__drizzle_migrations`,
})

async function main() {
  try {
    // A pooler would keep the server connection and its lock, and the next migration would wait forever.
    await migrate(await requireDirectUrl(readMigrateConfig(), 'a migration'))
    console.log('The database is up to date.')
  } catch (error) {
    const statement = error instanceof DrizzleQueryError ? `\nThe statement: ${error.query}` : ''
    console.error(`${rootMessageOf(error)}${statement}`)
    process.exitCode = error instanceof ConfigError ? 78 : 1
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
