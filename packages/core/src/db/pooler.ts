/**
 * Support for a transaction pooler such as PgBouncer in transaction mode, which assigns a server connection for one
 * transaction at a time. Requests and jobs work behind a pooler: their settings, locks and prepared statements end with
 * the transaction. These need a session and connect to DATABASE_DIRECT_URL, without the pooler: the lock of migrations,
 * backups, the search of an erasure, and the queues if they are stored in PostgreSQL.
 */
import { sql } from 'drizzle-orm'
import pg from 'pg'
import { ConfigError } from '../runtime/config.ts'
import { type Db, isBehindPooler } from './client.ts'
import { namedStatement } from './statements/named-statement.ts'
import { text } from './statements/sql-types.ts'

interface DatabaseUrls {
  DATABASE_URL: string
  DATABASE_DIRECT_URL?: string | undefined
}

/** The URL for connections that need a session. A DATABASE_DIRECT_URL is trusted without a check. */
export function directUrlOf(config: DatabaseUrls): string {
  return config.DATABASE_DIRECT_URL ?? config.DATABASE_URL
}

/**
 * The URL of the server for `what`, such as "a backup", which needs a session. Throws a ConfigError if DATABASE_URL leads
 * through a pooler and DATABASE_DIRECT_URL is not set.
 */
export async function requireDirectUrl(config: DatabaseUrls, what: string): Promise<string> {
  if (config.DATABASE_DIRECT_URL === undefined && (await isPoolerUrl(config.DATABASE_URL))) throw missingDirectUrl(what)
  return directUrlOf(config)
}

/** The error of `what`, such as "a backup", if there is no URL without the pooler. */
export function missingDirectUrl(what: string): ConfigError {
  return new ConfigError(
    `DATABASE_URL leads through a connection pooler, but ${what} needs a direct connection: ` +
      'set DATABASE_DIRECT_URL to the URL of the PostgreSQL server.',
  )
}

async function isPoolerUrl(databaseUrl: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'rapport',
    connectionTimeoutMillis: 2_000,
  })
  client.on('error', () => {})
  try {
    await client.connect()
    return await isBehindPooler(client)
  } finally {
    await client.end()
  }
}

/**
 * Warns if the timeouts that a connection requests at startup are not in effect: a pooler may ignore them, and without
 * them a statement or an idle transaction can hold its locks indefinitely. Does nothing if the database is unavailable.
 */
export async function warnAboutMissingTimeouts(db: Db, warn: (message: string) => void): Promise<void> {
  const missing = (await findMissingTimeouts(db).catch(() => [])).map(({ name }) => name)
  if (missing.length === 0) return
  warn(`Connections have no ${missing.join(', no ')}: configure the pooler to set them (connect_query in PgBouncer)`)
}

const findMissingTimeouts = namedStatement('find missing timeouts', {
  columns: { name: text },
  sql: () => sql`
    select name from pg_settings
    where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') and setting = '0'
    order by name`,
})
