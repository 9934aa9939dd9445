/** The session of a backup: it prevents a second one, and exports the snapshot that pg_dump and a verification read. */
import { sql } from 'drizzle-orm'
import { conflict } from '../kernel/errors.ts'
import { dumpedExtensions } from '../db/distribution/dumped-extensions.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { arrayOf, bool, int, nullable, text, timestamptz } from '../db/statements/sql-types.ts'
import { openConnection } from './connection.ts'
import { type DatabaseContents, lockTables, readContents } from './database-contents.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'

export interface BackupSession {
  readonly database: string
  readonly majorVersion: number
  /** As PostgreSQL shows it: "18.4". */
  readonly version: string
  /** The time of the snapshot, by the clock of the server. */
  readonly createdAt: Timestamp
  /** For `pg_dump --snapshot`. Valid until it is released. */
  readonly snapshot: string
  /** The extensions to dump; null for all. */
  readonly extensions: readonly string[] | null
  /** Counts the rows in the snapshot. Can take minutes: it reads every table. */
  readContents(): Promise<DatabaseContents>
  /** Ends the snapshot, which keeps PostgreSQL from removing old rows. The lock stays. */
  releaseSnapshot(): Promise<void>
  close(): Promise<void>
}

/** Advisory lock of this database, on the session: it ends with the process, however the process ends. */
const backupLock = 7_277_690

/** Throws `request_in_progress` if another backup of this database is running, on whatever machine. */
export async function openBackupSession(databaseUrl: string): Promise<BackupSession> {
  const client = await openConnection(databaseUrl)
  try {
    const [lock] = await tryLock({ $client: client })
    if (!lock?.isTaken) throw conflict('request_in_progress', 'Another backup of this database is running')
    await client.query('begin isolation level repeatable read read only')
    const [facts] = await openSnapshot({ $client: client })
    if (!facts) throw new Error('PostgreSQL returned no row')
    return {
      ...facts,
      readContents: async () => readContents(client, await lockTables(client)),
      releaseSnapshot: async () => void (await client.query('commit')),
      close: () => client.end(),
    }
  } catch (error) {
    await client.end()
    throw error
  }
}

const tryLock = namedStatement('lock backups', {
  columns: { isTaken: bool },
  sql: () => sql`select pg_try_advisory_lock(${backupLock}::bigint) as is_taken`,
})

const openSnapshot = namedStatement('open the snapshot of a backup', {
  columns: {
    database: text,
    majorVersion: int,
    version: text,
    createdAt: timestamptz,
    snapshot: text,
    extensions: nullable(arrayOf(text)),
  },
  sql: () => sql`
    select current_database()::text as database, current_setting('server_version_num')::int / 10000 as major_version,
      current_setting('server_version') as version, now() as created_at, pg_export_snapshot() as snapshot,
      ${sql.raw(dumpedExtensions)} as extensions`,
})
