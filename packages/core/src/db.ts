import { setTimeout as sleep } from 'node:timers/promises'
import { drizzle, type NodePgQueryResultHKT } from 'drizzle-orm/node-postgres'
import type { PgDatabase } from 'drizzle-orm/pg-core'
import pg from 'pg'

/** A pool or an open transaction: verbs cannot tell and need not. */
export type Db = PgDatabase<NodePgQueryResultHKT>

export interface Database {
  db: Db
  pool: pg.Pool
  close(): Promise<void>
}

/** What is made once for each pool and each connection, and kept as long as that lives. */
export function perDb<Made>(make: (db: Db) => Made): (db: Db) => Made {
  const known = new WeakMap<Db, Made>()
  return (db) => {
    const made = known.get(db) ?? make(db)
    known.set(db, made)
    return made
  }
}

/** How many connections one process has at most, in all its pools, its LISTEN aside. */
export const poolSize = 20

/** As many of them stay open when nothing is asked for a while: to open one takes longer than nearly every request. */
const keptConnections = 5

/**
 * Opens a pool. A call finds a connection within two seconds or fails; a statement has ten seconds, a lock three, and
 * an answer that a server which hangs never gives is given up soon after.
 * `onError` hears of connections that broke while idle, which the pool replaces by itself. `settings` are those of
 * PostgreSQL for each connection that is not a pooler's; `lifetimeSeconds` is for those whose tables may grow from
 * nothing to very much within the ten minutes that a connection else lives.
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
    min: keptConnections,
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
  const db = openOn(pool)
  db.transaction = <Result>(work: Work<Result>) => runTransaction(pool, work)
  return { db, pool, close: () => pool.end() }
}

/**
 * Whether a pooler lends this connection to its clients by turns: it gives them process numbers of its own, as it cancels
 * on their behalf.
 */
export async function isLent(client: pg.ClientBase): Promise<boolean> {
  const { processID: told } = client as pg.ClientBase & { processID?: number | null }
  const { rows } = await client.query<{ real: number }>('select pg_backend_pid() as real')
  return told !== rows[0]?.real
}

/**
 * What is prepared on a connection that is lent, another finds there, or misses: so its statements have no names, and
 * what is set on it would be set for others.
 */
async function prepareConnection(client: pg.PoolClient, settings: Record<string, string> = {}): Promise<void> {
  if (!(await isLent(client))) {
    const given = JSON.stringify(settings)
    if (given !== '{}') await client.query('select set_config(key, value, false) from json_each_text($1)', [given])
    return
  }
  const query = client.query.bind(client) as (...parameters: unknown[]) => unknown
  const withoutName = (config: unknown) =>
    typeof config === 'object' && config !== null && 'name' in config ? { ...config, name: undefined } : config
  Reflect.set(client, 'query', (config: unknown, ...rest: unknown[]) => query(withoutName(config), ...rest))
}

/** Drizzle on a pool, or on a connection that somebody holds. */
export const openOn = (client: pg.Pool | pg.PoolClient): Db => drizzle({ client, casing: 'snake_case' })
type Work<Result> = (db: never) => Promise<Result>

/**
 * Drizzle's own keeps the connection for ever when BEGIN fails, and hides why `work` failed when ROLLBACK fails too.
 * Here every connection goes back, a broken one to be thrown away. A COMMIT that the server turned into a ROLLBACK, as
 * somebody swallowed the error of a statement, is an error too: what is answered must be there.
 */
async function runTransaction<Result>(pool: pg.Pool, work: Work<Result>): Promise<Result> {
  const client = await pool.connect()
  let isBroken = true
  try {
    await client.query('begin')
    const result = await work(dbOf(client) as never).catch(async (why: unknown) => {
      isBroken = await client.query('rollback').then(
        () => false,
        () => true,
      )
      throw why
    })
    const { command } = await client.query('commit')
    isBroken = false
    if (command !== 'COMMIT') throw new Error('A statement of the transaction had failed: nothing of it was kept')
    return result
  } finally {
    client.release(isBroken)
  }
}

/** One for each connection, as long as it lives: what Drizzle has worked out and what is prepared is worked out once. */
const openConnections = new WeakMap<pg.PoolClient, Db>()

function dbOf(client: pg.PoolClient): Db {
  const known = openConnections.get(client)
  if (known) return known
  const db = openOn(client)
  db.transaction = <Result>(work: Work<Result>) => runSavepoint(client, () => work(db as never))
  openConnections.set(client, db)
  return db
}

/** One within another may have the same name: the newest is meant. If going back fails, so does all that follows. */
async function runSavepoint<Result>(client: pg.PoolClient, work: () => Promise<Result>): Promise<Result> {
  await client.query('savepoint nested')
  const result = await work().catch(async (why: unknown) => {
    await client.query('rollback to savepoint nested; release savepoint nested').catch(() => {})
    throw why
  })
  await client.query('release savepoint nested')
  return result
}

/**
 * Calls `onNotify` with what was said whenever one of the channels is notified, and with nothing once after each
 * (re)connection, as notifications may have been missed. Reconnects by itself for as long as it is open. `close` waits
 * for a call that is under way.
 */
export function listen(
  databaseUrl: string,
  channels: readonly string[],
  options: { onNotify: (said: string) => void; onError: (error: Error) => void },
): { close(): Promise<void> } {
  const closing = new AbortController()
  const running = (async () => {
    while (!closing.signal.aborted) {
      await holdConnection().catch(options.onError)
      await sleep(1_000, undefined, { signal: closing.signal }).catch(() => {})
    }
  })()

  async function holdConnection() {
    const client = new pg.Client({
      connectionString: databaseUrl,
      application_name: 'rapport listen',
      connectionTimeoutMillis: 2_000,
      keepAlive: true,
    })
    const ended = new Promise<void>((resolve) => client.once('end', resolve))
    client.on('error', options.onError)
    client.on('notification', ({ payload = '' }) => options.onNotify(payload))
    await client.connect()
    const stop = () => void client.end()
    closing.signal.addEventListener('abort', stop, { once: true })
    if (closing.signal.aborted) stop()
    for (const channel of channels) await client.query(`listen ${channel}`)
    options.onNotify('')
    await ended
    closing.signal.removeEventListener('abort', stop)
  }

  return {
    close() {
      closing.abort()
      return running
    },
  }
}
