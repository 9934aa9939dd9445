import type { Db } from '../db/client.ts'
import { repeatAfterDeadlock } from '../db/distribution/conflicts.ts'

/**
 * Runs `work` in a transaction that changes accounts: users, members, sessions, API keys and invites. It may be repeated:
 * `work` must have no other effects.
 */
export function inAccountTransaction<Context extends { db: Db }, Result>(
  ctx: Context,
  work: (ctx: Context) => Promise<Result>,
): Promise<Result> {
  return repeatAfterDeadlock(ctx.db, (db) => work({ ...ctx, db }))
}
