/**
 * The worker's side of an import. One job has the claim. Each chunk of rows is one transaction, which requires the claim
 * and the position, and updates the counters and the position of the next chunk. After a crash, another job resumes
 * from that position, so no row is imported or counted twice.
 */
import { and, eq, inArray, sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../request/context.ts'
import { byId } from '../request/by-id.ts'
import { emit } from '../events/emit.ts'
import { idOf } from '../kernel/ids.ts'
import { findAuditActor } from '../audit/audit.ts'
import { type Claim, claimWork, finishClaim, lockClaim } from '../work/claims.ts'
import { imports } from '../db/schema/index.ts'
import { importCompleted, type ImportRecord, toImport } from './import-record.ts'
import { purgeImport } from './purge-imports.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/** An import that a job has claimed, as it was when claimed. */
export interface ClaimedImport extends ImportRecord {
  claim: Claim
  /** The user or API key that started the import: it reports the consent of the contacts. */
  actorId: string | null
}

/**
 * Claims an import that has not ended, which is RUNNING then, or a CANCELED one, whose file is to be deleted. Returns
 * undefined if that is not possible.
 */
export async function claimImport(ctx: Ctx, claim: Claim): Promise<ClaimedImport | undefined> {
  const isClaimable = and(byId(imports, ctx, idOf('imp', claim.id)), inArray(imports.status, claimableStatuses))
  const row = await inTransaction(ctx, async (ctx) => {
    const [found] = await ctx.db.select().from(imports).where(isClaimable).for('update')
    if (!found || !(await claimWork(ctx, claim))) return undefined
    if (found.status === 'CANCELED') return found
    const running = { status: 'RUNNING', startedAt: found.startedAt ?? timestampNow() } as const
    await ctx.db.update(imports).set(running).where(isClaimable)
    return { ...found, ...running }
  })
  if (!row) return undefined
  const isProved = row.listId !== null || row.onConflict === 'update'
  return { ...row, claim, actorId: isProved ? await findAuditActor(ctx, 'contacts.imported', row.id) : null }
}
const claimableStatuses: ImportRecord['status'][] = ['QUEUED', 'RUNNING', 'CANCELED']

/** Locks the import and its claim. Returns undefined if it was canceled or the claim was lost. */
export async function lockClaimedImport(ctx: Ctx, { id, claim }: ClaimedImport): Promise<ImportRecord | undefined> {
  const [row] = await ctx.db
    .select()
    .from(imports)
    .where(and(byId(imports, ctx, id), eq(imports.status, 'RUNNING')))
    .for('update')
  return row && (await lockClaim(ctx, claim)) ? row : undefined
}

/** Completes an import after its last row, and emits `import.completed` unless it was a dry run. */
export async function finishImport(ctx: Ctx, claimed: ClaimedImport): Promise<void> {
  const ended = await inTransaction(ctx, async (ctx) => {
    const current = await lockClaimedImport(ctx, claimed)
    return current && endImport(ctx, claimed, { ...current, status: 'COMPLETED' })
  })
  // Until the next automatic analyze, PostgreSQL would keep plans made for a small table.
  if (ended && ended.created >= analyzeThreshold)
    await ctx.db.execute(sql`analyze (skip_locked) contacts, subscriptions`)
}
const analyzeThreshold = 10_000

/**
 * Fails an import and reports the reason, with the current line unless it names another. Imported rows remain. Returns
 * false, without any effect, if the import was canceled or the claim was lost.
 */
export function failImport(
  ctx: Ctx,
  claimed: ClaimedImport,
  reason: { line?: number; message: string },
): Promise<boolean> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockClaimedImport(ctx, claimed)
    if (!current) return false
    const errors = [...current.errors, { line: current.line, ...reason }]
    await endImport(ctx, claimed, { ...current, status: 'FAILED', errors })
    return true
  })
}

/** Deletes the file of a canceled import and finishes its work. */
export async function finishCanceledImport(ctx: Ctx, claimed: ClaimedImport): Promise<void> {
  await purgeImport(ctx, claimed)
  await finishClaim(ctx, claimed.claim)
}

async function endImport(ctx: Ctx, { id, claim }: ClaimedImport, record: ImportRecord): Promise<ImportRecord> {
  const ended = { ...record, completedAt: timestampNow() }
  const { status, errors, completedAt } = ended
  await ctx.db
    .update(imports)
    .set({ status, errors, completedAt })
    .where(byId(imports, ctx, id))
  await finishClaim(ctx, claim)
  if (!ended.dryRun) await emit(ctx, importCompleted, toImport(ended))
  return ended
}
