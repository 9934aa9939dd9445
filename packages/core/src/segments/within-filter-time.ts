import { sql } from 'drizzle-orm'
import { transaction } from '../db/transaction.ts'
import { hasSqlState } from '../db/database-errors.ts'
import { AppError } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'

/**
 * Runs work that evaluates a filter in a transaction whose statements end after five seconds: a filter that no index
 * serves reads all contacts of the workspace. Throws `unavailable` then. In an open transaction, such as that of
 * an idempotent request, the limit holds until it ends.
 */
export function withinFilterTime<Result>(
  ctx: Ctx,
  work: (ctx: Ctx) => Promise<Result>,
  timeoutMs = 5_000,
): Promise<Result> {
  return transaction(ctx.db, async (db) => {
    // Without JIT: compiling a large filter takes longer than a page that it finds soon.
    await db.execute(
      sql`select set_config('statement_timeout', ${String(timeoutMs)}, true), set_config('jit', 'off', true)`,
    )
    return work({ ...ctx, db })
  }).catch((error: unknown) => {
    if (!hasSqlState(error, ['57014'])) throw error
    throw new AppError(
      'unavailable',
      'The filter takes longer than five seconds. Add a condition that fewer contacts match',
    )
  })
}
