import type { Db } from '../db/client.ts'
import { repeatAfterDeadlock } from '../db/repeat-after-deadlock.ts'

/**
 * Runs `work` in a transaction that changes accounts: users, members, sessions, API keys and invites. It may be repeated:
 * `work` must have no other effects. More often than others, because on a cluster a change of such a table locks the whole
 * table, so that transactions of several workspaces can deadlock.
 */
export function inAccountTransaction<Context extends { db: Db }, Result>(
  ctx: Context,
  work: (ctx: Context) => Promise<Result>,
): Promise<Result> {
  return repeatAfterDeadlock(ctx.db, (db) => work({ ...ctx, db }), { maxRounds: 6, maxPauseMs: 200 })
}
