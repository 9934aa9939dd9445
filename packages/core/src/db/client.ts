import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'
import { FairPool } from './fair-pool.ts'

/** Drizzle without its private session and without `transaction`, which `transaction.ts` replaces. */
type Drizzle<Client> = Omit<NodePgDatabase, '_' | 'transaction'> & { $client: Client }

/** Runs on one connection, which belongs to a transaction or a single statement. */
export type ConnectionDb = Drizzle<pg.PoolClient>

/** A pool or an open transaction. Most functions work on both; `isInTransaction` distinguishes them. */
export type Db = Drizzle<pg.Pool | pg.PoolClient>

export interface Database {
  db: Db
  pool: pg.Pool
  close(): Promise<void>
}

/** Creates a value once per pool and per connection, and keeps it as long as the pool or connection exists. */
export function memoizePerDb<Made, On extends object = Db>(make: (db: On) => Made): (db: On) => Made {
  const known = new WeakMap<On, Made>()
  return (db) => {
    const made = known.get(db) ?? make(db)
    known.set(db, made)
    return made
  }
}

/** The maximum number of pooled connections per process. An API opens up to `maxSnapshots` more for exports. */
export const poolSize = 20

/** Idle connections that stay open: opening a connection takes longer than almost any request. */
const minConnections = 5

/**
 * Opens a pool. Timeouts: 2 s for a connection, 3 s for a lock, 10 s for a statement, 12 s for the response of a server
 * that hangs. `onError` receives the errors of idle and new connections, which the pool replaces. `settings` are PostgreSQL
 * settings for each connection; they are not applied behind a transaction pooler. `lifetimeSeconds` limits the age of a
 * connection and its cached plans (default: 10 minutes). `verifyDatabase` runs on each new connection before it is used,
 * until it has returned true; if it throws, the connection is not used.
 */
export function openDatabase(
  databaseUrl: string,
  options: {
    applicationName: string
    maxConnections?: number
    connectionTimeoutMs?: number
    lifetimeSeconds?: number
    settings?: Record<string, string>
    verifyDatabase?: (db: ConnectionDb) => Promise<boolean>
    onError: (error: Error) => void
  },
): Database {
  let isVerified = options.verifyDatabase === undefined
  async function prepare(client: pg.ClientBase): Promise<void> {
    await prepareConnection(client, options.settings)
    if (!isVerified) isVerified = (await options.verifyDatabase?.(openConnection(client as pg.PoolClient))) ?? true
  }
  const pool = new FairPool({
    connectionString: databaseUrl,
    application_name: options.applicationName,
    max: options.maxConnections ?? poolSize,
    min: minConnections,
    connectionTimeoutMillis: options.connectionTimeoutMs ?? 2_000,
    statement_timeout: 10_000,
    query_timeout: 12_000,
    lock_timeout: 3_000,
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
    // Limits the age of cached plans: a plan that was made for a small table may be slow once the table has grown.
    maxLifetimeSeconds: options.lifetimeSeconds ?? 600,
    // With `verify`, pg-pool would never release a connection whose caller gave up meanwhile.
    onConnect: prepare,
  })
  pool.on('error', options.onError)
  // A connection that is lost during a transaction fails its next statement. Without a listener the error would end the
  // process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return { db: drizzle(pool, { casing: 'snake_case' }), pool, close: () => pool.end() }
}

/** One instance per connection, so that its prepared statements are built once. */
export const openConnection = memoizePerDb(
  (client: pg.PoolClient): ConnectionDb => drizzle(client, { casing: 'snake_case' }),
)

/** Runs `work` on the transaction's connection, or on a pool connection, which is discarded after an error. */
export async function onConnection<Result>(
  { $client }: Pick<Db, '$client'>,
  work: (db: ConnectionDb) => Promise<Result>,
): Promise<Result> {
  if (!($client instanceof pg.Pool)) return work(openConnection($client))
  const client = await $client.connect()
  let isBroken = true
  try {
    const result = await work(openConnection(client))
    isBroken = false
    return result
  } finally {
    client.release(isBroken)
  }
}

/**
 * Whether the connection leads through a transaction pooler: a pooler generates its own process ids, in order to
 * forward cancel requests. pg's property `processID` is missing in its types and documentation
 * (brianc/node-postgres#2665).
 */
export async function isBehindPooler(client: pg.ClientBase): Promise<boolean> {
  const { processID } = client as pg.ClientBase & { processID?: number | null }
  const { rows } = await client.query<{ real: number }>('select pg_backend_pid() as real')
  return processID !== rows[0]?.real
}

const connectionsBehindPooler = new WeakSet<pg.ClientBase>()

/** How values are written as text and read, whatever the database or the role has as default. */
export const formats = {
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  array_nulls: 'on',
  bytea_output: 'hex',
} as const

/** Behind a pooler it sets nothing: server connections are shared, so the settings would apply to other clients. */
async function prepareConnection(client: pg.ClientBase, settings: Record<string, string> = {}): Promise<void> {
  if (await isBehindPooler(client)) {
    connectionsBehindPooler.add(client)
    return
  }
  const settingsJson = JSON.stringify({ ...formats, ...settings })
  await client.query('select set_config(key, value, false) from json_each_text($1)', [settingsJson])
}

/** Behind a pooler the name is empty (unnamed statement): the next transaction may run on another server connection. */
export function statementName({ $client }: ConnectionDb, name: string): string {
  return connectionsBehindPooler.has($client) ? '' : name
}
