import { setTimeout as pause } from 'node:timers/promises'
import type { Db } from './client.ts'
import { hasSqlState } from './database-errors.ts'
import { isInTransaction, transaction } from './transaction.ts'

const deadlock = '40P01'

/**
 * Runs `work` in a transaction, and again after a deadlock, until it was run `maxRounds` times: `work` must have no other
 * effects. If `db` is in a transaction it runs once, as a savepoint would keep the locks of the transaction. With
 * `maxPauseMs`, a round starts after a random pause, which grows, so that the same transactions do not meet again.
 */
export async function repeatAfterDeadlock<Result>(
  db: Db,
  work: (db: Db) => Promise<Result>,
  { maxRounds, maxPauseMs = 0 }: { maxRounds: number; maxPauseMs?: number },
): Promise<Result> {
  const lastRound = isInTransaction(db) ? 1 : maxRounds
  for (let round = 1; ; round++) {
    try {
      return await transaction(db, work)
    } catch (error) {
      if (round === lastRound || !hasSqlState(error, [deadlock])) throw error
      if (maxPauseMs > 0) await pause(Math.random() * maxPauseMs * round)
    }
  }
}
