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

/**
 * Opens a pool. A call finds a connection within two seconds or fails; a statement has ten seconds, a lock three, and
 * an answer that a server which hangs never gives is given up soon after.
 * `onError` hears of connections that broke while idle, which the pool replaces by itself.
 */
export function openDatabase(
  databaseUrl: string,
  options: { applicationName: string; maxConnections?: number; onError: (error: Error) => void },
): Database {
  const pool = new pg.Pool({
    connectionString: databaseUrl,
    application_name: options.applicationName,
    max: options.maxConnections ?? 20,
    connectionTimeoutMillis: 2_000,
    statement_timeout: 10_000,
    query_timeout: 12_000,
    lock_timeout: 3_000,
    idle_in_transaction_session_timeout: 10_000,
    keepAlive: true,
  })
  pool.on('error', options.onError)
  // A connection that breaks in the middle of a transaction fails its next statement; unheard, it would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  const db = openOn(pool)
  db.transaction = (work, settings) => runTransaction(pool, work, settings)
  return { db, pool, close: () => pool.end() }
}

/** Drizzle on a pool, or on a connection that somebody holds. */
export const openOn = (client: pg.Pool | pg.PoolClient): Db => drizzle({ client, casing: 'snake_case' })
type Transact = Db['transaction']

/**
 * Drizzle's own keeps the connection for ever when BEGIN fails, and hides why `work` failed when ROLLBACK fails too.
 * Here every connection goes back, a broken one to be thrown away.
 */
async function runTransaction<Result>(
  pool: pg.Pool,
  work: (db: Parameters<Parameters<Transact>[0]>[0]) => Promise<Result>,
  settings: Parameters<Transact>[1],
): Promise<Result> {
  const client = await pool.connect()
  let failure: { why: unknown } | undefined
  let isBroken = false
  try {
    return await openOn(client).transaction(async (db) => {
      try {
        return await work(db)
      } catch (why) {
        failure = { why }
        throw why
      }
    }, settings)
  } catch (error) {
    isBroken = failure?.why !== error
    throw failure ? failure.why : error
  } finally {
    client.release(isBroken)
  }
}

/**
 * Calls `onNotify` whenever one of the channels is notified, and once after each (re)connection, as notifications
 * may have been missed. Reconnects by itself for as long as it is open. `close` waits for a call that is under way.
 */
export function listen(
  databaseUrl: string,
  channels: readonly string[],
  options: { onNotify: () => void; onError: (error: Error) => void },
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
    client.on('notification', options.onNotify)
    await client.connect()
    const stop = () => void client.end()
    closing.signal.addEventListener('abort', stop, { once: true })
    if (closing.signal.aborted) stop()
    for (const channel of channels) await client.query(`listen ${channel}`)
    options.onNotify()
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
