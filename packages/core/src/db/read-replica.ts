/**
 * A streaming replica that answers what only reads and may take long, and never shows less than the primary would.
 *
 * The rule: a read first asks the primary how far its log reaches, and is given to the replica only once that has
 * replayed as far. Everything that was answered before the read began lies before that point, whoever wrote it and
 * through whichever process, so nothing has to be remembered of who wrote what. Replicas are mostly a few milliseconds
 * behind, which is waited for; where it takes longer, or the replica is away, the primary answers as if there were none.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { type Database, type Db, openDatabase } from './client.ts'
import { isDatabaseUnavailable } from '../kernel/errors.ts'
import { microBatch } from '../kernel/micro-batch.ts'
import { runTransaction } from './transaction.ts'

export interface Replica {
  /** The answer of the replica, or undefined when it may not or could not give one. `read` is repeatable. */
  read<Result>(read: (db: Db) => Promise<Result>): Promise<{ result: Result } | undefined>
  /** A connection of one's own to the replica, or undefined as above: for what is longer than a statement may be. */
  connect(): Promise<pg.Client | undefined>
  close(): Promise<void>
}

/** How long is waited for the replica to catch up: a listing is soon read on the primary too, an export is not. */
const catchUpTimeoutMs = { listing: 200, export: 2_000 }
/** After it was found to be away or behind, for so long only one at a time tries. */
const retryDelayMs = 1_000
const pollMs = 3

/** A point of the log, as text, and of which server's. */
interface LogPosition {
  reached: string | null
  server: string
}

/** Past every commit that anybody was told of: those are on the disk, unless the server does not wait for that. */
const primaryPosition = `select system_identifier::text as server,
    (case current_setting('synchronous_commit')
      when 'off' then pg_current_wal_insert_lsn() else pg_current_wal_flush_lsn() end - '0/0')::text as reached
  from pg_control_system()`
/** What it replayed last before it became a primary of its own would say nothing any more. */
const replicaPosition = `select system_identifier::text as server,
    case when pg_is_in_recovery() then (pg_last_wal_replay_lsn() - '0/0')::text end as reached
  from pg_control_system()`

export function openReplica(
  replicaUrl: string,
  options: { primary: Database; applicationName: string; log: Record<'info' | 'warn', (message: string) => void> },
): Replica {
  const { primary, applicationName, log } = options
  const replica = openDatabase(replicaUrl, { applicationName, onError: () => {} })
  /** Each read gets a position that was asked for after it came. */
  const readPrimaryPosition = microBatch(async (reads: void[]) => {
    const { rows } = await primary.pool.query<LogPosition>(primaryPosition)
    return reads.map(() => rows[0])
  })
  let isSuspended = false
  let retryAt = 0

  /** Whether the server behind `client`, and no other that may be reached by the same address, has caught up. */
  async function waitUntilCaughtUp(
    client: pg.ClientBase,
    target: LogPosition | undefined,
    timeoutMs: number,
  ): Promise<void> {
    const deadline = performance.now() + timeoutMs
    for (;;) {
      const query = { text: replicaPosition, query_timeout: timeoutMs }
      const found = (await client.query<LogPosition>(query)).rows[0]
      if (found?.server !== target?.server) throw new Error('it is no replica of the server at DATABASE_URL')
      if (!found?.reached || !target?.reached) throw new Error('it is no replica, or not any more')
      if (BigInt(found.reached) >= BigInt(target.reached)) return
      if (performance.now() > deadline) throw new Error('it is behind')
      await sleep(pollMs)
    }
  }

  /** A connection of the pool to a replica that has caught up. */
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

  /** Whether to try: of those who come while it rests, one in a while. */
  function shouldTry(): boolean {
    if (!isSuspended) return true
    if (performance.now() < retryAt) return false
    retryAt = performance.now() + retryDelayMs
    return true
  }

  function suspend(error: unknown): undefined {
    if (!isSuspended)
      log.warn(`The replica is left out, the primary answers: ${error instanceof Error ? error.message : ''}`)
    isSuspended = true
    retryAt = performance.now() + retryDelayMs
  }

  function resume() {
    if (isSuspended) log.info('The replica answers again')
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
        // What is wrong with the request is as wrong on the primary.
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

/** Reads on the replica where there is one that knows all, else on the primary. `read` may be called twice. */
export async function readFromReplica<C extends { db: Db; replica?: Replica }, Result>(
  ctx: C,
  read: (ctx: C) => Promise<Result>,
): Promise<Result> {
  const replicaResult = await ctx.replica?.read((db) => read({ ...ctx, db }))
  return replicaResult ? replicaResult.result : read(ctx)
}
