/**
 * The worker's side of an import. One worker owns the claim. Each chunk of rows is one transaction, which also updates
 * the counters and the position of the next chunk. After a crash, another worker resumes from that position, so no row
 * is imported or counted twice.
 */
import { and, eq, not, sql, type SQL } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../request/context.ts'
import { emit } from '../events/emit.ts'
import { idOf, uuidOf } from '../kernel/ids.ts'
import { findAuditActor } from '../audit/audit.ts'
import { finishWork, requeueWork } from '../jobs/outbox.ts'
import { imports } from '../db/schema/index.ts'
import { isInSuspendedWorkspace } from '../request/suspended-workspace.ts'
import { deleteParts, endStatuses, type ImportRecord, toImport } from './imports.ts'
import { importCompleted } from './import-events.ts'

/** An import claimed by this worker, as it was when claimed. */
export interface ClaimedImport extends ImportRecord {
  workerId: string
  /** The user or API key that started the import: it reports the consent of the contacts. */
  actorId: string | null
}
type ImportClaim = Pick<ClaimedImport, 'id' | 'workerId'>

/**
 * Claims a queued import. Returns undefined if it is already claimed or has ended, or if the workspace is suspended.
 */
export async function claimImport(ctx: Ctx, uuid: string, workerId: string): Promise<ClaimedImport | undefined> {
  const [row] = await ctx.db
    .update(imports)
    .set({
      status: 'RUNNING',
      workerId,
      startedAt: sql`coalesce(${imports.startedAt}, ${new Date().toISOString()}::timestamptz)`,
    })
    .where(
      and(
        eq(imports.workspaceId, ctx.workspaceId),
        eq(imports.id, idOf('imp', uuid)),
        eq(imports.status, 'QUEUED'),
        not(isInSuspendedWorkspace(imports.workspaceId)),
      ),
    )
    .returning()
  return row && { ...row, workerId, actorId: row.listId && (await findAuditActor(ctx, 'contacts.imported', row.id)) }
}

/** Releases the claim of an unfinished import, for a job that throws and is retried by the queue. */
export async function releaseImport(ctx: Ctx, claim: ImportClaim): Promise<boolean> {
  const released = await ctx.db
    .update(imports)
    .set({ status: 'QUEUED', workerId: null })
    .where(isClaimedBy(ctx, claim))
    .returning({ id: imports.id })
  return released.length > 0
}

/** Releases the claim and requeues the import, for a job that ends normally. */
export function releaseAndRequeueImport(ctx: Ctx, claim: ImportClaim): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    if (await releaseImport(ctx, claim)) await requeueWork(ctx, [uuidOf(claim.id)])
  })
}

/** Completes an import after its last row, and emits `import.completed` unless it was a dry run. */
export async function finishImport(ctx: Ctx, claim: ImportClaim): Promise<void> {
  const ended = await endImport(ctx, claim, { status: 'COMPLETED' })
  // Until the next automatic analyze, PostgreSQL would keep plans made for a small table.
  if (ended && ended.created >= analyzeThreshold)
    await ctx.db.execute(sql`analyze (skip_locked) contacts, subscriptions`)
}
const analyzeThreshold = 10_000

/**
 * Fails an import and reports the reason, with the current line unless it names another. Imported rows remain. Returns
 * false, without any effect, if the worker no longer owns the claim.
 */
export function failImport(ctx: Ctx, claim: ImportClaim, reason: { line?: number; message: string }): Promise<boolean> {
  return inTransaction(ctx, async (ctx) => {
    const [current] = await ctx.db
      .select({ line: imports.line, errors: imports.errors })
      .from(imports)
      .where(isClaimedBy(ctx, claim))
      .for('update')
    if (!current) return false
    const errors = [...current.errors, { line: current.line, ...reason }]
    return (await endImport(ctx, claim, { status: 'FAILED', errors })) !== undefined
  })
}

/** Deletes the file of an ended import, in small batches. */
export async function purgeImport(ctx: Ctx, { id }: Pick<ClaimedImport, 'id'>): Promise<void> {
  while ((await deleteParts(ctx, id, endStatuses)) > 0);
}

/** Matches the import while this worker owns the claim. */
export function isClaimedBy(ctx: Ctx, { id, workerId }: ImportClaim): SQL | undefined {
  return and(
    eq(imports.workspaceId, ctx.workspaceId),
    eq(imports.id, id),
    eq(imports.workerId, workerId),
    eq(imports.status, 'RUNNING'),
  )
}

/** Returns undefined if the worker no longer owns the claim. */
function endImport(
  ctx: Ctx,
  claim: ImportClaim,
  end: { status: 'COMPLETED' | 'FAILED'; errors?: (typeof imports.$inferInsert)['errors'] },
) {
  return inTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .update(imports)
      .set({ ...end, workerId: null, completedAt: new Date() })
      .where(isClaimedBy(ctx, claim))
      .returning()
    if (!row) return undefined
    await finishWork(ctx, [uuidOf(row.id)])
    if (!row.dryRun) await emit(ctx, importCompleted, toImport(row))
    return row
  })
}
