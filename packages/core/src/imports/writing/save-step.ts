/** What both passes have in common: one transaction with the progress of the import, which a dry run decides, too. */
import { imports } from '../../db/schema/index.ts'
import { byId } from '../../request/by-id.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { type ClaimedImport, lockClaimedImport } from '../import-claim.ts'
import type { ImportRecord } from '../import-record.ts'
import type { Span } from '../read-chunks.ts'

/** Each saves the progress of one chunk. `lost`, without any effect, if the import was canceled or the claim was lost. */
export type Steps = AsyncGenerator<() => Promise<StepResult>>
export type StepResult = 'written' | 'lost'

type Save = (ctx: Ctx, current: ImportRecord) => Promise<Partial<ImportRecord>>

/** `save` returns the new values of the import. Idempotent: safe to retry when the result of a call was lost. */
export function saveStep(
  ctx: Ctx,
  claimed: ClaimedImport,
  { start, end, pass, save }: Span & { pass: 'position' | 'checkedPosition'; save: Save },
): Promise<StepResult> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockClaimedImport(ctx, claimed)
    const position = current?.[pass]
    if (position === end.position && end.position !== start.position) return 'written'
    if (!current || position !== start.position) return 'lost'
    const changes = await save(ctx, current)
    await ctx.db
      .update(imports)
      .set(changes)
      .where(byId(imports, ctx, claimed.id))
    return 'written'
  })
}

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

type Counter = 'created' | 'updated' | 'skipped' | 'failed' | 'confirmed' | 'optedOut' | 'suppressed'
export type Counts<Name extends Counter> = Record<Name, number>

/** The counters of the import, which is locked, with those of a chunk. */
export const addCounts = <Name extends Counter>(current: ImportRecord, counts: Counts<Name>): Counts<Name> =>
  Object.fromEntries(
    (Object.keys(counts) as Name[]).map((name) => [name, current[name] + counts[name]]),
  ) as Counts<Name>

type Change = 'CREATED' | 'UPDATED' | 'UNCHANGED'

/** How many records were created, updated, or stay as they were. */
export function countChanges(changes: readonly (Change | 'REJECTED')[]): Counts<'created' | 'updated' | 'skipped'> {
  const count = (change: Change) => changes.filter((one) => one === change).length
  return { created: count('CREATED'), updated: count('UPDATED'), skipped: count('UNCHANGED') }
}
