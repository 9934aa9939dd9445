/**
 * Between a program and its PostgreSQL may stand a pooler (PgBouncer in transaction mode, and its like), which lends a
 * connection of the server for one transaction at a time. Rapport's requests and jobs keep to that: what they set, lock or
 * prepare ends with their transaction. Three things need a session of their own and go to DATABASE_DIRECT_URL, past the
 * pooler: the worker's LISTEN, migrations with their lock, and the queues where they live in PostgreSQL.
 */
import { sql } from 'drizzle-orm'
import pg from 'pg'
import { type Db, isBehindPooler } from './client.ts'

interface DatabaseUrls {
  DATABASE_URL: string
  DATABASE_DIRECT_URL?: string | undefined
}

/** Where a session lasts: the direct address where one is given, which is believed. */
export function directUrlOf(config: DatabaseUrls): string {
  return config.DATABASE_DIRECT_URL ?? config.DATABASE_URL
}

/** Whether sessions are had only through a pooler, so that what they hold may get lost, or stay behind. */
export async function isDirectUrlMissing(config: DatabaseUrls): Promise<boolean> {
  return config.DATABASE_DIRECT_URL === undefined && (await isPoolerUrl(config.DATABASE_URL))
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
 * Says which of the limits that every connection asks for at its start are not in force: a pooler drops them, and without
 * them a statement or an idle transaction may hold its locks for ever. A database that is away is asked nothing.
 */
export async function warnAboutMissingTimeouts(db: Db, warn: (message: string) => void): Promise<void> {
  const result = await db
    .execute<{ name: string }>(sql`
      select name from pg_settings
      where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout') and setting = '0'
      order by name`)
    .catch(() => undefined)
  const missing = result?.rows.map((row) => row.name) ?? []
  if (missing.length === 0) return
  warn(`Connections have no ${missing.join(', no ')}: let the pooler set them for each (connect_query in PgBouncer)`)
}
