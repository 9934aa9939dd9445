import pg from 'pg'
import { type Db, openConnection } from './client.ts'

type Work<Result> = (db: Db) => Promise<Result>

/** Whether statements on `db` belong to an open transaction. */
export const isInTransaction = (db: Db) => !(db.$client instanceof pg.Pool)

/** What `afterCommit` has collected for the transaction that is open on a connection. */
const afterCommits = new WeakMap<pg.PoolClient, Map<string, (pool: Db) => void>>()

/**
 * Calls `work` with the pool once the transaction of `db` has committed; at once if none is open. A transaction makes one call
 * for each `key`, and a rollback none. For hints alone: a process that dies right after the commit never makes the call.
 */
export function afterCommit(db: Db, key: string, work: (pool: Db) => void): void {
  if (db.$client instanceof pg.Pool) work(db)
  else afterCommits.get(db.$client)?.set(key, work)
}

/**
 * Runs `work` in a transaction, or in a savepoint if `db` is in a transaction. An error of `work` rolls back. `settings`
 * are settings of PostgreSQL for this transaction alone; a savepoint takes none.
 */
export async function transaction<Result>(
  db: Db,
  work: Work<Result>,
  settings: Readonly<Record<string, string>> = {},
): Promise<Result> {
  if (!(db.$client instanceof pg.Pool)) return runSavepoint(db.$client, () => work(db))
  const client = await db.$client.connect()
  const callbacks = new Map<string, (pool: Db) => void>()
  afterCommits.set(client, callbacks)
  const assignments = Object.entries(settings).map(([name, value]) => `; set local ${name} = ${value}`)
  const result = await runTransaction(client, work, `begin${assignments.join('')}`)
  for (const callback of callbacks.values()) callback(db)
  return result
}

/**
 * Runs a transaction on a connection taken from a pool, and gives it back: after a failed BEGIN too, where Drizzle's own
 * transaction leaks it. A failed ROLLBACK discards the connection and does not hide the error of `work`. PostgreSQL turns
 * a COMMIT into a ROLLBACK if `work` caught the error of a statement: that is an error, as no write is kept.
 */
export async function runTransaction<Result>(
  client: pg.PoolClient,
  work: Work<Result>,
  begin = 'begin',
): Promise<Result> {
  let isBroken = true
  try {
    await client.query(begin)
    const result = await work(openConnection(client)).catch(async (error: unknown) => {
      isBroken = await client.query('rollback').then(
        () => false,
        () => true,
      )
      throw error
    })
    const { command } = await client.query('commit')
    isBroken = false
    if (command !== 'COMMIT') throw new Error('A statement of the transaction had failed: nothing of it was kept')
    return result
  } finally {
    client.release(isBroken)
  }
}

/** Nested savepoints share a name: the newest is meant. If the rollback fails, so does every later statement. */
async function runSavepoint<Result>(client: pg.PoolClient, work: () => Promise<Result>): Promise<Result> {
  await client.query('savepoint nested')
  const result = await work().catch(async (error: unknown) => {
    await client.query('rollback to savepoint nested; release savepoint nested').catch(() => {})
    throw error
  })
  await client.query('release savepoint nested')
  return result
}
