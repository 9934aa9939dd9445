/**
 * Reads from a streaming replica, for listings and exports. A read never returns older data than the primary would.
 *
 * Each read first asks the primary for its WAL position, and runs on the replica only after the replica has replayed up
 * to that position. That position includes every write that was acknowledged before the read began, by any process, so
 * no process has to track its writes. A replica is usually a few milliseconds behind, and the read waits until it has
 * caught up. If that takes too long, or the replica is unavailable, the read runs on the primary.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Database, type Db, openDatabase } from './client.ts'
import { isDatabaseUnavailable } from '../kernel/errors.ts'
import { microBatch } from '../kernel/concurrency/micro-batch.ts'
import { runTransaction } from './transaction.ts'

export interface Replica {
  /** Returns the result from the replica; undefined if it is behind or unavailable. `read` must be repeatable. */
  read<Result>(read: (db: Db) => Promise<Result>): Promise<{ result: Result } | undefined>
  /** Opens a separate connection without a query timeout, for exports; undefined if it is behind or unavailable. */
  connect(): Promise<pg.Client | undefined>
  close(): Promise<void>
}

/** How long a read waits for the replica to catch up. A listing is cheap on the primary, an export is not. */
const catchUpTimeoutMs = { listing: 200, export: 2_000 }
/** While the replica is suspended, one read per interval tries it again. */
const retryDelayMs = 1_000
const pollMs = 3

/** A WAL position, as text, and the identifier of the server. */
interface LogPosition {
  reached: string | null
  server: string
}

/**
 * At or after every acknowledged commit: a commit is flushed and then acknowledged, unless `synchronous_commit` is off.
 */
const primaryPosition = `select system_identifier::text as server,
    (case current_setting('synchronous_commit')
      when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end - '0/0')::text as reached
  from pg_control_system()`
/** Null if the server is not in recovery: a promoted replica no longer follows the primary. */
const replicaPosition = `select system_identifier::text as server,
    case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::text end as reached
  from pg_control_system()`

export function openReplica(
  replicaUrl: string,
  options: { primary: Database; applicationName: string; log: Record<'info' | 'warn', (message: string) => void> },
): Replica {
  const { primary, applicationName, log } = options
  const replica = openDatabase(replicaUrl, { applicationName, onError: () => {} })
  /** Each read gets a position that was requested after the read began. */
  const readPrimaryPosition = microBatch(async (reads: void[]) => {
    const { rows } = await primary.pool.query<LogPosition>(primaryPosition)
    return reads.map(() => rows[0])
  })
  let isSuspended = false
  let retryAt = 0

  /** Checks the connected server itself, because the address may lead to several servers. */
  async function waitUntilCaughtUp(
    client: pg.ClientBase,
    target: LogPosition | undefined,
    timeoutMs: number,
  ): Promise<void> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const query = { text: replicaPosition, query_timeout: timeoutMs }
      const found = (await client.query<LogPosition>(query)).rows[0]
      if (found?.server !== target?.server) throw new Error('it is not a replica of the server at DATABASE_URL')
      if (!found?.reached || !target?.reached) throw new Error('it is not a replica')
      if (BigInt(found.reached) >= BigInt(target.reached)) return
      if (performance.now() > deadline) throw new Error('it is behind the primary')
      await sleep(pollMs)
    }
  }

  /** Returns a pool connection to a replica that has caught up. */
  async function acquireCurrentConnection(target: LogPosition | undefined): Promise<pg.PoolClient> {
    const client = await replica.pool.connect()
    try {
      await waitUntilCaughtUp(client, target, catchUpTimeoutMs.listing)
      return client
    } catch (error) {
      client.release(true)
      throw error
    }
  }

  /** Whether a read should try the replica: while it is suspended, one read per interval does. */
  function shouldTry(): boolean {
    if (!isSuspended) return true
    if (performance.now() < retryAt) return false
    retryAt = performance.now() + retryDelayMs
    return true
  }

  function suspend(error: unknown): undefined {
    if (!isSuspended)
      log.warn(`replica not used, reading from the primary: ${error instanceof Error ? error.message : ''}`)
    isSuspended = true
    retryAt = performance.now() + retryDelayMs
  }

  function resume() {
    if (isSuspended) log.info('replica in use again')
    isSuspended = false
  }

  return {
    async read(read) {
      if (!shouldTry()) return undefined
      const client = await acquireCurrentConnection(await readPrimaryPosition()).catch(suspend)
      if (!client) return undefined
      resume()
      try {
        return { result: await runTransaction(client, read, 'begin read only') }
      } catch (error) {
        // An invalid request would fail on the primary too.
        if (!isDatabaseUnavailable(error)) throw error
        suspend(error)
        return undefined
      }
    },

    async connect() {
      if (!shouldTry()) return undefined
      const target = await readPrimaryPosition()
      const client = new pg.Client({ ...replica.pool.options, query_timeout: 0 })
      client.on('error', () => {})
      try {
        await client.connect()
        await waitUntilCaughtUp(client, target, catchUpTimeoutMs.export)
        resume()
        return client
      } catch (error) {
        suspend(error)
        await client.end().catch(() => {})
        return undefined
      }
    },

    close: () => replica.close(),
  }
}

/** Reads from a replica that has caught up, otherwise from the primary. `read` may be called twice. */
export async function readFromReplica<C extends { db: Db; replica?: Replica }, Result>(
  ctx: C,
  read: (ctx: C) => Promise<Result>,
): Promise<Result> {
  const replicaResult = await ctx.replica?.read((db) => read({ ...ctx, db }))
  return replicaResult ? replicaResult.result : read(ctx)
}
