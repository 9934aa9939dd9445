/** Writes a chunk of rows: with the counters, the errors, and the position of the next chunk. */
import { sql } from 'drizzle-orm'
import { type ImportId, uuidOf } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import type { ClaimedImport } from '../import-claim.ts'
import type { ImportRecord } from '../import-record.ts'
import type { Span } from '../read-chunks.ts'
import type { RowError } from '../rows/row-values.ts'
import { addCounts, type Counts, saveStep, type StepResult, undoDryRun } from './save-step.ts'

const maxErrors = 100

export interface WrittenRows {
  failed: RowError[]
  /** Of rows that were written. They are shown, and not counted as failed. */
  warnings: RowError[]
  counts: Counts<'created' | 'updated' | 'skipped' | 'confirmed' | 'optedOut' | 'suppressed'>
}

export type WriteRows<Row> = (ctx: Ctx, claimed: ClaimedImport, rows: readonly Row[]) => Promise<WrittenRows>

/** A dry run does not know the contacts of earlier chunks. */
export function writeChunk<Row>(
  ctx: Ctx,
  claimed: ClaimedImport,
  { rows, write, start, end }: Span & { rows: readonly Row[]; write: WriteRows<Row> },
): Promise<StepResult> {
  const save = async (ctx: Ctx, current: ImportRecord) => {
    const written = await undoDryRun(ctx, current, (ctx) => write(ctx, { ...claimed, ...current }, rows))
    const { failed, warnings, counts } = written
    const told = [...failed, ...warnings].toSorted((one, other) => one.line - other.line)
    await deletePartsBefore(ctx, claimed.id, end.position)
    return {
      ...end,
      processed: current.processed + rows.length,
      ...addCounts(current, { ...counts, failed: failed.length }),
      errors: [...current.errors, ...told.map(toShownError)].slice(0, maxErrors),
      errorCounts: countErrors(current.errorCounts, told),
    }
  }
  return saveStep(ctx, claimed, { start, end, pass: 'position', save })
}

const toShownError = ({ line, column, message }: RowError) => ({
  line,
  message: column === null ? message : `${column}: ${message}`,
})

/** Counts the errors by column and message, up to 100 of these. */
function countErrors(counted: ImportRecord['errorCounts'], errors: readonly RowError[]): ImportRecord['errorCounts'] {
  const counts = new Map(counted.map((one) => [JSON.stringify([one.column, one.message]), one]))
  for (const { column, message } of errors) {
    const key = JSON.stringify([column, message])
    const known = counts.get(key)
    if (known || counts.size < maxErrors) counts.set(key, { column, message, count: (known?.count ?? 0) + 1 })
  }
  return [...counts.values()]
}

/** Deletes the parts of the file before the one that contains `position`. */
async function deletePartsBefore(ctx: Ctx, importId: ImportId, position: number): Promise<void> {
  const ofImport = sql`workspace_id = ${uuidOf(ctx.workspaceId)} and import_id = ${uuidOf(importId)}`
  await ctx.db.execute(sql`
    delete from import_parts where ${ofImport} and position < (
      select max(position) from import_parts where ${ofImport} and position <= ${position})`)
}
