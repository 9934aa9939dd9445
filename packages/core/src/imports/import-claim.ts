/**
 * The worker's side of an import. One worker has it in hand; each chunk of rows is one transaction with the counters and
 * with the place in the file where the next chunk begins. So at whatever instant a worker dies, the next one goes on
 * where the work stands, and no row is imported or counted twice.
 */
import { and, eq, sql, type SQL } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../request/context.ts'
import { emit } from '../events/emit.ts'
import { idOf, type ImportId, uuidOf } from '../kernel/ids.ts'
import { finishWork, requeueWork } from '../jobs/outbox.ts'
import { imports } from '../db/schema/index.ts'
import { deleteParts, type ImportRecord, toImport } from './imports.ts'
import { importCompleted } from './import-events.ts'

/** An import in this worker's hands, as it was when it was taken. */
export interface ClaimedImport extends ImportRecord {
  workerId: string
}
type ImportClaim = Pick<ClaimedImport, 'id' | 'workerId'>

/** Takes an import in hand; undefined when it is in other hands or over. */
export async function claimImport(ctx: Ctx, uuid: string, workerId: string): Promise<ClaimedImport | undefined> {
  const [row] = await ctx.db
    .update(imports)
    .set({ status: 'RUNNING', workerId, startedAt: sql`coalesce(${imports.startedAt}, now())` })
    .where(
      and(eq(imports.workspaceId, ctx.workspaceId), eq(imports.id, idOf('imp', uuid)), eq(imports.status, 'QUEUED')),
    )
    .returning()
  return row && { ...row, workerId }
}

/** Puts an import back that is not done. The job that had it comes again, as it throws. */
export async function releaseImport(ctx: Ctx, claim: ImportClaim): Promise<boolean> {
  const released = await ctx.db
    .update(imports)
    .set({ status: 'QUEUED', workerId: null })
    .where(isClaimedBy(ctx, claim))
    .returning({ id: imports.id })
  return released.length > 0
}

/** The same for a job that ends well: the import goes on the queue again, for any worker to go on with. */
export function releaseAndRequeueImport(ctx: Ctx, claim: ImportClaim): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    if (await releaseImport(ctx, claim)) await requeueWork(ctx.db, [uuidOf(claim.id)])
  })
}

/** Every row has had its turn. Tells `import.completed`, unless it was a dry run. */
export async function finishImport(ctx: Ctx, claim: ImportClaim): Promise<void> {
  const ended = await endImport(ctx, claim, { status: 'COMPLETED' })
  // Plans that were made for a small table would read the whole of a big one, until PostgreSQL counts anew by itself.
  if (ended && ended.created >= analyzeThreshold)
    await ctx.db.execute(sql`analyze (skip_locked) contacts, subscriptions`)
}
const analyzeThreshold = 10_000

/** It cannot go on: what is done stays done. The reason is shown with the line where it stands. */
export async function failImport(ctx: Ctx, claim: ImportClaim, reason: string): Promise<void> {
  const error = sql`jsonb_build_object('line', ${imports.line}, 'message', ${reason}::text)`
  await endImport(ctx, claim, { status: 'FAILED', errors: sql`${imports.errors} || ${error}` })
}

/** Removes what an import leaves behind, in steps that lock little; of one that has not ended, nothing. */
export async function purgeImport(ctx: Ctx, { id }: Pick<ClaimedImport, 'id'>): Promise<void> {
  while ((await deleteParts(ctx, id, ['COMPLETED', 'FAILED'])) > 0);
  while ((await deleteSeenEmails(ctx, id)) > 0);
}

/** The import as long as it is in this worker's hands. */
export function isClaimedBy(ctx: Ctx, { id, workerId }: ImportClaim): SQL | undefined {
  return and(
    eq(imports.workspaceId, ctx.workspaceId),
    eq(imports.id, id),
    eq(imports.workerId, workerId),
    eq(imports.status, 'RUNNING'),
  )
}

/** Undefined when it was in other hands by now. */
function endImport(ctx: Ctx, claim: ImportClaim, end: { status: 'COMPLETED' | 'FAILED'; errors?: SQL }) {
  return inTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .update(imports)
      .set({ ...end, workerId: null, completedAt: sql`now()` })
      .where(isClaimedBy(ctx, claim))
      .returning()
    if (!row) return undefined
    await finishWork(ctx.db, [uuidOf(row.id)])
    if (!row.dryRun) await emit(ctx, importCompleted, toImport(row))
    return row
  })
}

async function deleteSeenEmails(ctx: Ctx, id: ImportId): Promise<number> {
  const result = await ctx.db.execute(sql`
    delete from import_seen where (workspace_id, import_id, email_hash) in (
      select s.workspace_id, s.import_id, s.email_hash from import_seen s
      join imports i on i.workspace_id = s.workspace_id and i.id = s.import_id
      where i.workspace_id = ${uuidOf(ctx.workspaceId)} and i.id = ${uuidOf(id)}
        and i.status in ('COMPLETED', 'FAILED') limit 10000)`)
  return result.rowCount ?? 0
}
