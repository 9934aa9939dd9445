import { imports } from '../db/schema/index.ts'
import { emit } from '../events/emit.ts'
import { enqueue } from '../work/enqueue.ts'
import { requeueWork } from '../work/publish.ts'
import { conflict, notFound } from '../kernel/errors.ts'
import { type ImportId, uuidOf } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { importCompleted } from './import-events.ts'
import { type ImportRecord, toImport } from './import-record.ts'
import { endStatuses } from './purge-imports.ts'
import { timestampNow } from '../kernel/validation.ts'

/**
 * Cancels an import that has not ended. Imported rows remain. A job that is running it
 * writes no further chunk, and an upload that is under way fails. A job then deletes the file: see `claimImport`.
 */
export function cancelImport(ctx: Ctx, id: ImportId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const before = await lockImport(ctx, id)
    if (endStatuses.includes(before.status))
      throw conflict('wrong_state', `The import has ended: it is ${before.status}`)
    const [row] = await ctx.db
      .update(imports)
      .set({ status: 'CANCELED', completedAt: timestampNow() })
      .where(byId(imports, ctx, id))
      .returning()
    if (!row) throw notFound('Import')
    // An import that is being received has no work yet, and its client has not been told about it.
    if (before.status === 'RECEIVING') return enqueue(ctx, 'IMPORT', id)
    await requeueWork(ctx, [uuidOf(id)])
    if (!row.dryRun) await emit(ctx, importCompleted, toImport(row))
  })
}

/** Locks an import until the transaction ends. */
export async function lockImport(ctx: Ctx, id: ImportId): Promise<Pick<ImportRecord, 'status'>> {
  const [row] = await ctx.db
    .select({ status: imports.status })
    .from(imports)
    .where(byId(imports, ctx, id))
    .for('update')
  if (!row) throw notFound('Import')
  return row
}
