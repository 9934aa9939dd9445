import { transaction } from '../db/transaction.ts'
import { AppError, hasSqlState } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'

const settings = {
  statement_timeout: `'5s'`,
  // Compiling a large filter takes longer than a page that it finds soon.
  jit: 'off',
}

/**
 * Runs work that evaluates a filter in a transaction whose statements end after five seconds: a filter that no index
 * serves reads all contacts of the workspace. Throws `unavailable` then.
 */
export function withinFilterTime<Result>(ctx: Ctx, work: (ctx: Ctx) => Promise<Result>): Promise<Result> {
  return transaction(ctx.db, (db) => work({ ...ctx, db }), settings).catch((error: unknown) => {
    if (!hasSqlState(error, ['57014'])) throw error
    throw new AppError(
      'unavailable',
      'The filter takes longer than five seconds. Add a condition that fewer contacts match',
    )
  })
}
