import { sql } from 'drizzle-orm'
import { imports } from '../../db/schema/index.ts'
import { type ImportId, uuidOf } from '../../kernel/ids.ts'
import { byId } from '../../request/by-id.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { type ClaimedImport, lockClaimedImport } from '../import-claim.ts'
import type { RowError } from '../rows/row-errors.ts'
import type { ImportRecord } from '../import-record.ts'
import type { Chunk } from '../read-chunks.ts'
import { undoDryRun } from './undo-dry-run.ts'

const maxErrors = 100

/** What became of the rows of a chunk. */
export interface WrittenRows {
  failed: RowError[]
  /** Of rows that were written. They are shown, and not counted as failed. */
  warnings?: RowError[]
  counts: Record<'created' | 'updated' | 'skipped' | 'confirmed' | 'optedOut' | 'suppressed', number>
}

interface WritableChunk<Row> extends Chunk<Row> {
  write: (ctx: Ctx, claimed: ClaimedImport, rows: readonly Row[]) => Promise<WrittenRows>
}

/**
 * Imports a chunk in one transaction, together with the counters and the position of the next chunk. Returns `lost`,
 * without any effect, if the import was canceled or the claim was lost. Idempotent: safe to retry when the result of a call was
 * lost. A dry run does not know the contacts of earlier chunks.
 */
export function writeChunk<Row>(
  ctx: Ctx,
  claimed: ClaimedImport,
  { rows, start, end, write }: WritableChunk<Row>,
): Promise<'written' | 'lost'> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockClaimedImport(ctx, claimed)
    if (!current) return 'lost'
    if (current.position === end.position) return 'written'
    if (current.position !== start.position) return 'lost'

    const {
      failed,
      warnings = [],
      counts,
    } = await undoDryRun(ctx, current, (ctx) => write(ctx, { ...claimed, ...current }, rows))
    const told = [...failed, ...warnings].toSorted((one, other) => one.line - other.line)
    await ctx.db
      .update(imports)
      .set({
        ...end,
        processed: sql`${imports.processed} + ${rows.length}`,
        created: sql`${imports.created} + ${counts.created}`,
        updated: sql`${imports.updated} + ${counts.updated}`,
        skipped: sql`${imports.skipped} + ${counts.skipped}`,
        confirmed: sql`${imports.confirmed} + ${counts.confirmed}`,
        optedOut: sql`${imports.optedOut} + ${counts.optedOut}`,
        suppressed: sql`${imports.suppressed} + ${counts.suppressed}`,
        failed: sql`${imports.failed} + ${failed.length}`,
        errors: [...current.errors, ...told.map(toShownError)].slice(0, maxErrors),
        errorCounts: countErrors(current.errorCounts, told),
      })
      .where(byId(imports, ctx, claimed.id))
    await deletePartsBefore(ctx, claimed.id, end.position)
    return 'written'
  })
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
