import { setTimeout as pause } from 'node:timers/promises'
import { isInTransaction, transaction } from '../db/transaction.ts'
import { hasSqlState } from '../kernel/errors.ts'
import type { BaseCtx } from '../request/context.ts'

const deadlock = '40P01'
const maxAttempts = 6

/**
 * Runs `work` in a transaction that changes accounts: users, members, sessions, API keys and invites. On Citus, their
 * tables are on every server, where a change locks the whole table, so that transactions of several workspaces can
 * deadlock. Such a transaction is repeated: `work` must have no other effects.
 */
export async function inAccountTransaction<Context extends Pick<BaseCtx, 'db'>, Result>(
  ctx: Context,
  work: (ctx: Context) => Promise<Result>,
): Promise<Result> {
  const attempts = isInTransaction(ctx.db) ? 1 : maxAttempts
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction(ctx.db, (db) => work({ ...ctx, db }))
    } catch (error) {
      if (attempt === attempts || !hasSqlState(error, [deadlock])) throw error
      // A random pause, so that the same transactions do not meet again.
      await pause(Math.random() * 200 * attempt)
    }
  }
}
