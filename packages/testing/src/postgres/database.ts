import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import pg from 'pg'
import { inject, onTestFinished } from 'vitest'
import { openDatabase, type Db } from '@rapport/core/db/client.ts'
import { transaction } from '@rapport/core/db/transaction.ts'
import { waitUntil } from '../wait.ts'

export interface TestDatabase {
  readonly url: string
  readonly db: Db
  readonly pool: pg.Pool
  /** Ends the pool and drops the database. Throws if the test left other connections open. */
  close(): Promise<void>
}

/** Creates a migrated database, cloned from the template in about 50 ms. One per test file is enough. */
export function createTestDatabase(): Promise<TestDatabase> {
  const { nodeUrls, template } = inject('testServices')
  // Twice as fast as the default, which writes all pages to the log.
  return createDatabase(nodeUrls, `template ${template} strategy file_copy`)
}

/** Creates a database without tables, for tests of migrations. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return createDatabase(inject('testServices').nodeUrls.slice(0, 1), '')
}

/** Creates a database with one name on these servers. */
export async function createDatabase(nodeUrls: readonly string[], from: string): Promise<TestDatabase> {
  const { postgresUrl, databasePrefix } = inject('testServices')
  const name = `${databasePrefix}${randomBytes(6).toString('hex')}`
  for (const url of nodeUrls) {
    await withAdminClient(url, (client) => client.query(`create database ${name} ${from}`))
  }
  const url = databaseUrl(postgresUrl, name)
  const database = openDatabase(url, {
    applicationName: 'rapport test',
    maxConnections: 10,
    // Some tests run 200 transactions concurrently, and the last one waits for a free connection.
    connectionTimeoutMs: 20_000,
    // Some tests break idle connections.
    onError: () => {},
  })
  let closing: Promise<void> | undefined
  const close = async () => {
    await database.close()
    for (const url of nodeUrls) await withAdminClient(url, (client) => dropDatabase(client, name))
  }
  return { url, db: database.db, pool: database.pool, close: () => (closing ??= close()) }
}

/**
 * Removes a database, to which the maintenance process of Citus may be connecting. Such a connection waits for DROP
 * DATABASE, which gives up after five seconds, and needs a moment to end before the next attempt.
 */
async function dropUnused(client: pg.Client, name: string): Promise<void> {
  const drop = async () => {
    try {
      return await client.query(`drop database ${name} with (force)`)
    } catch (error) {
      await pause(2_000)
      throw error
    }
  }
  await waitUntil(drop, { describe: `${name} is removed`, timeoutMs: 60_000 })
}

async function dropDatabase(client: pg.Client, name: string): Promise<void> {
  const findConnections = async () => {
    const found = await client.query<{ application_name: string; state: string; query: string }>(
      `select application_name, state, query from pg_stat_activity
       where datname = $1 and backend_type = 'client backend' and application_name not like 'citus_internal%'`,
      [name],
    )
    return found.rows
  }
  // A closed connection remains listed for a moment. A pool would close an idle one after ten seconds.
  let leaked = await findConnections()
  for (let look = 0; leaked.length > 0 && look < 50; look += 1) {
    await pause(20)
    leaked = await findConnections()
  }
  await dropUnused(client, name)
  if (leaked.length === 0) return
  const list = leaked.map((row) => `  ${row.application_name || 'unnamed'} (${row.state}): ${row.query.slice(0, 200)}`)
  throw new Error(`${leaked.length} connections to the test database were left open:\n${list.join('\n')}`)
}

/** Runs `work` in a transaction that stays open until `commit`, to test what other transactions see and wait for. */
export async function openTransaction(
  db: Db,
  work: (db: Db) => Promise<unknown>,
): Promise<{ commit(): Promise<void> }> {
  const [done, committing] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const running = transaction(db, async (db) => {
    await work(db)
    done.resolve()
    await committing.promise
  })
  await Promise.race([done.promise, running])
  return { commit: () => (committing.resolve(), running) }
}

/**
 * Opens connections on which a statement fails soon if it waits for a lock. On a cluster, the lock is on another server,
 * where only the timeout of the statement counts.
 */
export function openImpatient({ url }: TestDatabase): Db {
  const settings = { lock_timeout: '100ms', statement_timeout: '3s' }
  const database = openDatabase(url, { applicationName: 'rapport test', settings, onError: () => {} })
  onTestFinished(() => database.close())
  return database.db
}

/**
 * Opens connections on which a deadlock ends with the timeout of a lock, after which nothing begins again, to test that
 * there is none. All transactions that could deadlock must use them: one on another connection would find the deadlock,
 * and begin again. On a cluster, it ends as on any connection.
 */
export function openUnrepeated({ url }: TestDatabase): Db {
  const settings = { deadlock_timeout: '1h' }
  const database = openDatabase(url, { applicationName: 'rapport test', settings, onError: () => {} })
  onTestFinished(() => database.close())
  return database.db
}

const countBlocked = `select count(*) from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock'`

/** Waits until `count` statements in this database wait for a lock, on any of its nodes. */
export async function waitUntilBlocked(db: Db, count = 1, limits: { timeoutMs?: number } = {}): Promise<void> {
  const { nodeUrls } = inject('testServices')
  const counts =
    nodeUrls.length > 1
      ? sql`select result as count from run_command_on_all_nodes(${countBlocked})`
      : sql.raw(countBlocked)
  const isBlocked = async () => {
    const { rows } = await db.execute<{ count: string }>(counts)
    return rows.reduce((sum, row) => sum + Number(row.count), 0) === count
  }
  await waitUntil(isBlocked, { describe: `${count} statements wait for a lock`, ...limits })
}

/** Returns the URL of another database on the same server. */
export function databaseUrl(postgresUrl: string, name: string): string {
  const url = new URL(postgresUrl)
  url.pathname = `/${name}`
  return url.href
}

/** Runs `work` on a separate connection. */
export async function withAdminClient<Result>(
  postgresUrl: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({
    connectionString: postgresUrl,
    application_name: 'rapport test administration',
    connectionTimeoutMillis: 5_000,
  })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
