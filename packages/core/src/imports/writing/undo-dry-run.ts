import { type Ctx, inTransaction } from '../../request/context.ts'
import type { ImportRecord } from '../import-record.ts'

/** Does the work, and undoes it in a dry run, which so decides and counts what the import would. */
export async function undoDryRun<Result>(
  ctx: Ctx,
  { dryRun }: Pick<ImportRecord, 'dryRun'>,
  work: (ctx: Ctx) => Promise<Result>,
): Promise<Result> {
  if (!dryRun) return work(ctx)
  const done: { result?: Result } = {}
  await inTransaction(ctx, async (ctx) => {
    done.result = await work(ctx)
    throw undone
  }).catch((error: unknown) => {
    if (error !== undone) throw error
  })
  return done.result as Result
}

const undone = new Error('undone')
