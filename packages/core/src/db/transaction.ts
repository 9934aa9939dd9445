import pg from 'pg'
import { type Db, openConnection } from './client.ts'

type Work<Result> = (db: Db) => Promise<Result>

/** Whether statements on `db` belong to an open transaction. */
export const isInTransaction = (db: Db) => !(db.$client instanceof pg.Pool)

/** Runs `work` in a transaction, or in a savepoint if `db` is in a transaction. An error of `work` rolls back. */
export async function transaction<Result>(db: Db, work: Work<Result>): Promise<Result> {
  if (db.$client instanceof pg.Pool) return runTransaction(await db.$client.connect(), work)
  return runSavepoint(db.$client, () => work(db))
}

/**
 * Runs a transaction on a connection taken from a pool, and gives it back: after a failed BEGIN too, where Drizzle's own
 * transaction leaks it. A failed ROLLBACK discards the connection and does not hide the error of `work`. PostgreSQL turns
 * a COMMIT into a ROLLBACK if `work` caught the error of a statement: that is an error, as no write is kept.
 */
export async function runTransaction<Result>(
  client: pg.PoolClient,
  work: Work<Result>,
  begin: 'begin' | 'begin read only' = 'begin',
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
