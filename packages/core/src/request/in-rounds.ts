import { changedConcurrently } from '../kernel/errors.ts'
import { type BaseCtx, inTransaction } from './context.ts'

const maxRounds = 3

/** What a transaction throws when a lock shows that something has changed since it was read: see `inRounds`. */
export const changedBeforeLock = changedConcurrently()

/**
 * Runs `work` in a transaction, and again if it throws `changedBeforeLock`: the locks are released in between. Throws
 * `unavailable` if that happens three times. Within a transaction of the caller, a round is a savepoint: the locks of the
 * round are released, but `now()` stays, so a change after the transaction started is met in each round.
 */
export async function inRounds<C extends BaseCtx, Result>(ctx: C, work: (ctx: C) => Promise<Result>): Promise<Result> {
  for (let round = 1; ; round++) {
    try {
      return await inTransaction(ctx, work)
    } catch (error) {
      if (error !== changedBeforeLock || round === maxRounds) throw error
    }
  }
}
