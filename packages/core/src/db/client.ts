import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import pg from 'pg'

/** Drizzle without its private session, and without its transactions: `transaction.ts` has ours. */
type Drizzle<Client> = Omit<NodePgDatabase, '_' | 'transaction'> & { $client: Client }

/** On one connection, which a transaction or a single statement holds. */
export type ConnectionDb = Drizzle<pg.PoolClient>

/** A pool or an open transaction. Verbs work on either, and `insertWithEvents` asks which it is. */
export type Db = Drizzle<pg.Pool | pg.PoolClient>

export interface Database {
  db: Db
  pool: pg.Pool
  close(): Promise<void>
}

/** What is made once for each pool and each connection, and kept as long as that lives. */
export function memoizePerDb<Made, On extends Db = Db>(make: (db: On) => Made): (db: On) => Made {
  const known = new WeakMap<On, Made>()
  return (db) => {
    const made = known.get(db) ?? make(db)
    known.set(db, made)
    return made
  }
}

/** How many connections one process has at most, in all its pools, its LISTEN aside. */
export const poolSize = 20

/** As many of them stay open when nothing is asked for a while: to open one takes longer than nearly every request. */
const minConnections = 5

/**
 * Opens a pool. A call finds a connection within two seconds or fails; a statement has ten seconds, a lock three, and
 * an answer that a server which hangs never gives is given up soon after.
 * `onError` hears of connections that broke while idle, which the pool replaces by itself. `settings` are those of
 * PostgreSQL for each connection that is not a pooler's; `lifetimeSeconds` limits the age of a
 * connection and of its cached plans, which is ten minutes by default.
 */
export function openDatabase(
  databaseUrl: string,
  options: {
    applicationName: string
    maxConnections?: number
    connectionTimeoutMs?: number
    lifetimeSeconds?: number
    settings?: Record<string, string>
    onError: (error: Error) => void
  },
): Database {
  const pool = new pg.Pool({
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
    // With a connection go its plans: none is older than the tables' growth within that time.
    maxLifetimeSeconds: options.lifetimeSeconds ?? 600,
    verify: (client, done) => void prepareConnection(client, options.settings).then(() => done(), done),
  })
  pool.on('error', options.onError)
  // A connection that breaks in the middle of a transaction fails its next statement; unheard, it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  return { db: drizzle(pool, { casing: 'snake_case' }), pool, close: () => pool.end() }
}

/** One instance per connection, kept while the connection lives, so that its prepared statements are built once. */
const openConnections = new WeakMap<pg.PoolClient, ConnectionDb>()

export function openConnection(client: pg.PoolClient): ConnectionDb {
  const db = openConnections.get(client) ?? drizzle(client, { casing: 'snake_case' })
  openConnections.set(client, db)
  return db
}

/** Runs `work` on the connection of the open transaction, else on one of the pool, which is discarded after an error. */
export async function onConnection<Result>(
  { $client }: Db,
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
 * Whether a transaction pooler is in between: it sends process ids of its own making, as it forwards cancel requests.
 * pg has `processID` as a property, which its typings and documentation leave out (brianc/node-postgres#2665).
 */
export async function isBehindPooler(client: pg.ClientBase): Promise<boolean> {
  const { processID } = client as pg.ClientBase & { processID?: number | null }
  const { rows } = await client.query<{ real: number }>('select pg_backend_pid() as real')
  return processID !== rows[0]?.real
}

const connectionsBehindPooler = new WeakSet<pg.PoolClient>()

/** A pooler's server connection is shared, so that its session settings would apply to other clients. */
async function prepareConnection(client: pg.PoolClient, settings: Record<string, string> = {}): Promise<void> {
  if (await isBehindPooler(client)) {
    connectionsBehindPooler.add(client)
    return
  }
  const settingsJson = JSON.stringify(settings)
  if (settingsJson !== '{}')
    await client.query('select set_config(key, value, false) from json_each_text($1)', [settingsJson])
}

/** Empty, which is unnamed, behind a pooler: the next transaction may run on a connection that lacks the statement. */
export function statementName({ $client }: ConnectionDb, name: string): string {
  return connectionsBehindPooler.has($client) ? '' : name
}
