import pg from 'pg'
import { type Db, openConnection } from './client.ts'

type Work<Result> = (db: Db) => Promise<Result>

/** Whether statements on `db` belong to an open transaction. */
export const isInTransaction = (db: Db) => !(db.$client instanceof pg.Pool)

interface AfterCommit {
  (pool: Db): void
  /** How much of something the call will add. */
  count?: number
}

interface OpenTransaction {
  pool: Db
  /** The calls that `afterCommit` collected, by key. */
  callbacks: Map<string, AfterCommit>
}

const openTransactions = new WeakMap<pg.PoolClient, OpenTransaction>()

/** The pool that the connection of a transaction belongs to. */
export function poolOf(db: Db): Db | undefined {
  return db.$client instanceof pg.Pool ? db : openTransactions.get(db.$client)?.pool
}

/**
 * Calls `work` with the pool after the transaction of `db` has committed, or immediately if `db` is a pool. There is
 * one call per `key` and transaction, and none after a rollback, also of a savepoint. Only for hints: a process that is
 * killed right after the commit never makes the call.
 */
export function afterCommit(db: Db, key: string, work: AfterCommit): void {
  if (db.$client instanceof pg.Pool) work(db)
  else openTransactions.get(db.$client)?.callbacks.set(key, work)
}

/** The `count` of the call that waits for the commit, or 0. A savepoint that is rolled back takes its part away. */
export function countBeforeCommit(db: Db, key: string): number {
  const transaction = db.$client instanceof pg.Pool ? undefined : openTransactions.get(db.$client)
  return transaction?.callbacks.get(key)?.count ?? 0
}

/**
 * Runs `work` in a transaction, or in a savepoint if `db` is in a transaction. An error rolls back. `settings` are
 * PostgreSQL settings for this transaction; a savepoint ignores them.
 */
export async function transaction<Result>(
  db: Db,
  work: Work<Result>,
  settings: Readonly<Record<string, string>> = {},
): Promise<Result> {
  if (!(db.$client instanceof pg.Pool)) return runSavepoint(db.$client, () => work(db))
  const client = await db.$client.connect()
  const callbacks = new Map<string, AfterCommit>()
  openTransactions.set(client, { pool: db, callbacks })
  const assignments = Object.entries(settings).map(([name, value]) => `; set local ${name} = ${value}`)
  const result = await runTransaction(client, work, `begin${assignments.join('')}`)
  for (const callback of callbacks.values()) callback(db)
  return result
}

/**
 * Runs a transaction on a connection of a pool and releases the connection, also after a failed BEGIN, where Drizzle's
 * own transaction leaks it. A failed ROLLBACK discards the connection and does not hide the error of `work`. If `work`
 * caught the error of a statement, PostgreSQL rolls back at COMMIT: this function then throws.
 */
async function runTransaction<Result>(client: pg.PoolClient, work: Work<Result>, begin: string): Promise<Result> {
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
    if (command !== 'COMMIT')
      throw new Error('A statement of the transaction failed, so the transaction was rolled back')
    return result
  } finally {
    client.release(isBroken)
  }
}

/** Nested savepoints share a name: PostgreSQL uses the newest. If the rollback fails, later statements fail too. */
async function runSavepoint<Result>(client: pg.PoolClient, work: () => Promise<Result>): Promise<Result> {
  await client.query('savepoint nested')
  const callbacks = openTransactions.get(client)?.callbacks
  const callbacksBefore = new Map(callbacks)
  const result = await work().catch(async (error: unknown) => {
    callbacks?.clear()
    for (const [key, callback] of callbacksBefore) callbacks?.set(key, callback)
    await client.query('rollback to savepoint nested; release savepoint nested').catch(() => {})
    throw error
  })
  await client.query('release savepoint nested')
  return result
}
