import { createHmac } from 'node:crypto'
import { and, eq, gt, lt, sql } from 'drizzle-orm'
import { type Ctx, getActorId, inTransaction } from './context.ts'
import { inRounds } from './in-rounds.ts'
import type { Db } from '../db/client.ts'
import { tryLockName } from '../db/statements/advisory-locks.ts'
import { purgeRows } from '../db/statements/purge-rows.ts'
import { AppError, conflict } from '../kernel/errors.ts'
import { idempotencyRecords } from '../db/schema/index.ts'
import { seal, unseal } from '../kernel/crypto.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/** A recorded response, independent of the protocol. */
export interface RecordedResponse {
  status: number
  location: string | null
  body: string
}

/**
 * Runs `work` once per actor and key within 24 hours and returns the recorded response for every repetition. Another
 * user or API key has records of its own, as a response may contain a secret that is shown only once. The record is
 * committed with the writes of `work`, so a crash cannot separate them. An error that `toResponse` converts to a
 * response is recorded like a success, and its writes are rolled back; any other error is not recorded. Throws
 * `request_in_progress` while the first request runs, `wrong_state` if the SECRET_KEY of the response is unknown, and
 * `idempotency_conflict` if the key was used for another request. Repeats all of it as `inRounds` does: within one
 * transaction, its moment would stay the same.
 */
export function runIdempotently(
  ctx: Ctx,
  request: { key: string; hash: string; toResponse: (error: unknown) => RecordedResponse | undefined },
  work: (ctx: Ctx) => Promise<RecordedResponse>,
): Promise<{ response: RecordedResponse; replayed: boolean }> {
  return inRounds(ctx, async (ctx) => {
    const key = toOwnKey(ctx, request.key)
    await lockKey(ctx, key)
    const known = await findRecord(ctx, { key, hash: request.hash })
    if (known) return { response: known, replayed: true }
    const response = await inTransaction(ctx, work).catch((error: unknown) => {
      const errorResponse = request.toResponse(error)
      if (!errorResponse) throw error
      return errorResponse
    })
    const { status, location } = response
    const body = seal(ctx.settings.keys, response.body, bindingOf(ctx, key))
    const [requestHash] = hashesOf(ctx, { key, hash: request.hash })
    const values = { requestHash, status, location, body, createdAt: timestampNow() }
    await ctx.db
      .insert(idempotencyRecords)
      .values({ workspaceId: ctx.workspaceId, key, ...values })
      .onConflictDoUpdate({ target: [idempotencyRecords.workspaceId, idempotencyRecords.key], set: values })
    return { response, replayed: false }
  })
}

/** Whether the key was used within 24 hours, by a request that has ended. */
export async function isKnownKey(ctx: Ctx, key: string): Promise<boolean> {
  const known = await ctx.db
    .select({ key: idempotencyRecords.key })
    .from(idempotencyRecords)
    .where(isRecent(ctx, toOwnKey(ctx, key)))
  return known.length > 0
}

/** Deletes up to 1,000 records that are older than 24 hours. Returns the number of deleted records. */
export const purgeIdempotencyRecords = (db: Db): Promise<number> =>
  purgeRows(db, idempotencyRecords, lt(idempotencyRecords.createdAt, sql`now() - interval '24 hours'`))

/** Locks the key until the transaction ends. A separate statement: the lookup must see the writes of the last owner. */
async function lockKey(ctx: Ctx, key: string) {
  if (!(await tryLockName(ctx.db, bindingOf(ctx, key))))
    throw new AppError('request_in_progress', 'A request with this Idempotency-Key is still running', {
      retryAfterSeconds: 1,
    })
}

async function findRecord(ctx: Ctx, request: { key: string; hash: string }): Promise<RecordedResponse | undefined> {
  const [record] = await ctx.db.select().from(idempotencyRecords).where(isRecent(ctx, request.key))
  if (!record) return undefined
  // First, as without its key, no hash can be compared either.
  const body = openBody(ctx, request.key, record.body)
  if (!hashesOf(ctx, request).includes(record.requestHash)) {
    throw new AppError('idempotency_conflict', 'This Idempotency-Key was used for another request')
  }
  return { status: record.status, location: record.location, body }
}

/** Keyed hashes of a request: with the current key, then with all former keys. */
function hashesOf(ctx: Ctx, { key, hash }: { key: string; hash: string }): [string, ...string[]] {
  const hashWith = (secret: Buffer) =>
    createHmac('sha256', secret)
      .update(`${bindingOf(ctx, key)} ${hash}`)
      .digest('base64url')
  const [current, ...former] = ctx.settings.keys.requests
  return [hashWith(current), ...former.map(hashWith)]
}

const isRecent = (ctx: Ctx, key: string) =>
  and(
    eq(idempotencyRecords.workspaceId, ctx.workspaceId),
    eq(idempotencyRecords.key, key),
    gt(idempotencyRecords.createdAt, sql`now() - interval '24 hours'`),
  )

function openBody(ctx: Ctx, key: string, sealed: string): string {
  try {
    return unseal(ctx.settings.keys, sealed, bindingOf(ctx, key))
  } catch {
    throw conflict('wrong_state', 'This Idempotency-Key was used before, but its response cannot be decrypted')
  }
}

/** The stored key. A key of a client contains no line break, so that the parts are unambiguous. */
const toOwnKey = ({ actor }: Ctx, key: string) => `${getActorId(actor) ?? actor.kind}\n${key}`

const bindingOf = (ctx: Ctx, key: string) => `${ctx.workspaceId} ${key}`
