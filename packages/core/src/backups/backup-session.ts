/** The session of a backup: it prevents a second one, and exports the snapshot that pg_dump and a verification read. */
import { conflict } from '../kernel/errors.ts'
import { dumpedExtensions } from '../db/distribution/dumped-extensions.ts'
import { openConnection } from './connection.ts'
import { type DatabaseContents, lockTables, readContents } from './database-contents.ts'

export interface BackupSession {
  readonly database: string
  readonly majorVersion: number
  /** As PostgreSQL shows it: "18.4". */
  readonly version: string
  /** The time of the snapshot, by the clock of the server. */
  readonly createdAt: Date
  /** For `pg_dump --snapshot`. Valid until it is released. */
  readonly snapshot: string
  /** The extensions to dump; null for all. */
  readonly extensions: string[] | null
  /** Counts the rows in the snapshot. Can take minutes: it reads every table. */
  readContents(): Promise<DatabaseContents>
  /** Ends the snapshot, which keeps PostgreSQL from removing old rows. The lock stays. */
  releaseSnapshot(): Promise<void>
  close(): Promise<void>
}

type Facts = 'database' | 'majorVersion' | 'version' | 'createdAt' | 'snapshot' | 'extensions'

/** Advisory lock of this database, on the session: it ends with the process, however the process ends. */
const backupLock = 7_277_690

/** Throws `request_in_progress` if another backup of this database is running, on whatever machine. */
export async function openBackupSession(databaseUrl: string): Promise<BackupSession> {
  const client = await openConnection(databaseUrl)
  try {
    const lock = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [backupLock])
    if (!lock.rows[0]?.taken) throw conflict('request_in_progress', 'Another backup of this database is running')
    await client.query('begin isolation level repeatable read read only')
    const { rows } = await client.query<Pick<BackupSession, Facts>>(`
      select current_database() as database, current_setting('server_version_num')::int / 10000 as "majorVersion",
        current_setting('server_version') as version, now() as "createdAt", pg_export_snapshot() as snapshot,
        ${dumpedExtensions} as extensions`)
    const [facts] = rows
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
