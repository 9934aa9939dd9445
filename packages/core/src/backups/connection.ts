import { drizzle } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { assertSupportedServer } from '../db/server-version.ts'
import { conflict } from '../kernel/errors.ts'

/** Runs `work` on a connection of its own, without the timeouts of the role, the database or the pool. */
export async function withConnection<Result>(
  databaseUrl: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = await openConnection(databaseUrl)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

export async function openConnection(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'rapport backup',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  })
  // A lost connection fails the next statement. Without a listener the error would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    await assertSupportedServer(drizzle(client))
    await client.query(`
      select set_config(name, '0', false) from pg_settings
      where name in ('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout',
        'idle_session_timeout')`)
    await client.query(`set lock_timeout = '5min'`)
    return client
  } catch (error) {
    await client.end()
    throw error
  }
}

/** Converts an error of PostgreSQL to one for the operator: ""what" failed: permission denied to create database". */
export function failWith(what: string) {
  return (error: unknown): never => {
    if (!(error instanceof pg.DatabaseError)) throw error
    throw conflict('wrong_state', [`${what}: ${error.message}`, error.detail].filter(Boolean).join('. '))
  }
}

/** The same database server, another database. */
export function urlOfDatabase(databaseUrl: string, name: string): string {
  const url = new URL(databaseUrl)
  // The driver decodes the path with `decodeURI`.
  url.pathname = `/${encodeURI(name)}`
  return url.href
}

/** The database that a URL leads to; as in PostgreSQL, the name of the user if it has no path. */
export const databaseOf = (databaseUrl: string): string => readDatabaseUrl(databaseUrl).database ?? ''

/**
 * Where a URL leads to, as the driver reads it: it accepts a single "%" in a password, parameters such as `port`, and
 * the variables of libpq for the parts that the URL omits.
 */
export function readDatabaseUrl(databaseUrl: string) {
  const { host, port, user, password, database } = new pg.Client({ connectionString: databaseUrl })
  return { host, port, user, password: password ?? undefined, database }
}
