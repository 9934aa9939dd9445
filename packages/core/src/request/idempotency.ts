import { and, eq, gt, sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from './context.ts'
import type { Db } from '../db/client.ts'
import { AppError, conflict } from '../kernel/errors.ts'
import { idempotencyRecords } from '../db/schema/index.ts'
import { seal, unseal } from '../kernel/crypto.ts'

/** An answer as it was given, whatever protocol gave it. */
export interface RecordedResponse {
  status: number
  location: string | null
  body: string
}

/**
 * Does `work` once for each key in 24 hours, and answers every repetition as the first time. The record is committed
 * with the work's own writes, so no crash comes between. A refusal (`answerFor` makes it an answer) is remembered like
 * a success, with its writes undone; any other error leaves no trace. Conflict while the first is still running,
 * or when its answer was kept under a SECRET_KEY that is gone; `unprocessable` when the same key comes with another
 * request.
 */
export function runIdempotently(
  ctx: Ctx,
  request: { key: string; hash: string; toResponse: (error: unknown) => RecordedResponse | undefined },
  work: (ctx: Ctx) => Promise<RecordedResponse>,
): Promise<{ response: RecordedResponse; replayed: boolean }> {
  return inTransaction(ctx, async (ctx) => {
    await lockKey(ctx, request.key)
    const known = await findRecord(ctx, request)
    if (known) return { response: known, replayed: true }
    const response = await inTransaction(ctx, work).catch((error: unknown) => {
      const errorResponse = request.toResponse(error)
      if (!errorResponse) throw error
      return errorResponse
    })
    const { status, location } = response
    const body = seal(ctx.settings.keys, response.body, bindingOf(ctx, request.key))
    const values = { requestHash: request.hash, status, location, body, createdAt: sql`now()` }
    await ctx.db
      .insert(idempotencyRecords)
      .values({ workspaceId: ctx.workspaceId, key: request.key, ...values })
      .onConflictDoUpdate({ target: [idempotencyRecords.workspaceId, idempotencyRecords.key], set: values })
    return { response, replayed: false }
  })
}

/** Forgets records older than 24 hours, a few at a time. Answers how many. */
export async function purgeIdempotencyRecords(db: Db): Promise<number> {
  const result = await db.execute(sql`
    delete from idempotency_records where (workspace_id, key) in (
      select workspace_id, key from idempotency_records where created_at < now() - interval '24 hours' limit 1000)`)
  return result.rowCount ?? 0
}

/** Held until the transaction ends. A statement of its own: the look-up after it must see what the last holder wrote. */
async function lockKey(ctx: Ctx, key: string) {
  const lock = await ctx.db.execute(
    sql`select pg_try_advisory_xact_lock(hashtextextended(${bindingOf(ctx, key)}, 0)) as taken`,
  )
  if (!lock.rows[0]?.['taken']) throw conflict('A request with this Idempotency-Key is still running')
}

async function findRecord(ctx: Ctx, request: { key: string; hash: string }): Promise<RecordedResponse | undefined> {
  const [record] = await ctx.db
    .select()
    .from(idempotencyRecords)
    .where(
      and(
        eq(idempotencyRecords.workspaceId, ctx.workspaceId),
        eq(idempotencyRecords.key, request.key),
        gt(idempotencyRecords.createdAt, sql`now() - interval '24 hours'`),
      ),
    )
  if (!record) return undefined
  if (record.requestHash !== request.hash) {
    throw new AppError('unprocessable', 'This Idempotency-Key was used for another request')
  }
  return { status: record.status, location: record.location, body: openBody(ctx, request.key, record.body) }
}

function openBody(ctx: Ctx, key: string, sealed: string): string {
  try {
    return unseal(ctx.settings.keys, sealed, bindingOf(ctx, key))
  } catch {
    throw conflict('This request was answered before, and the key that opens its answer is gone')
  }
}

const bindingOf = (ctx: Ctx, key: string) => `${ctx.workspaceId} ${key}`
