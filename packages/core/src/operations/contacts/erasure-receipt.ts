/** The receipt of an erasure: where something is left of a person, and why. */
import { and, eq } from 'drizzle-orm'
import { hasSqlState } from '../../db/database-errors.ts'
import { auditEntries, contacts, erasures } from '../../db/schema/index.ts'
import { limitInTurns } from '../../kernel/concurrency/limit-in-turns.ts'
import { AppError, conflict, notFound } from '../../kernel/errors.ts'
import type { ContactId } from '../../kernel/ids.ts'
import { byId } from '../../request/by-id.ts'
import type { Ctx } from '../../request/context.ts'
import type { ErasureReceipt, ErasureReceiptInput } from './erasure-receipt.schema.ts'
import { findWorkspaceTraces, spellingsOf, type Traces } from './find-traces.ts'
import { keptTraces, unreadable } from './kept-traces.ts'

/** A search reads all rows of a workspace: others wait for longer than one takes. */
export function limitSearches(deadlineMs: number) {
  const inTurn = limitInTurns(2, {
    maxPerWorkspace: 1,
    maxWaitMs: deadlineMs + 2_000,
    message: 'Too many receipts are being made; try again',
  })
  return (ctx: Ctx, spellings: readonly string[]) =>
    inTurn(ctx.workspaceId, () => findWorkspaceTraces(ctx, spellings, deadlineMs)).catch((error: unknown) => {
      if (!hasSqlState(error, ['57014'])) throw error
      throw new AppError('unavailable', 'The workspace is too large for this: ask the operator for the receipt')
    })
}
const searchInTurn = limitSearches(10_000)

/**
 * Searches the workspace for a contact that was deleted, by its id and by the addresses that the caller knows. Throws
 * `wrong_state` until the deletion and its erasure are done, and `not_found` if the audit log has no such deletion. Not
 * within a transaction.
 */
export async function createErasureReceipt(
  ctx: Ctx,
  contactId: ContactId,
  { emails }: ErasureReceiptInput,
): Promise<ErasureReceipt> {
  await requireErased(ctx, contactId)
  const spellings = [...new Set([{ contactId }, ...emails.map((email) => ({ email }))].flatMap(spellingsOf))]
  const traces = await searchInTurn(ctx, spellings)
  return toErasureReceipt(traces, { redis: undefined, notSearched: ofInstallation })
}

/** What belongs to no workspace. */
const ofInstallation = [
  'accounts, the settings of the workspace, queues and Redis: the operator runs `rapport erasure verify`',
]

async function requireErased(ctx: Ctx, id: ContactId): Promise<void> {
  if ((await ctx.db.$count(contacts, byId(contacts, ctx, id))) > 0)
    throw conflict('wrong_state', 'The contact is not deleted: delete it first')
  const isRunning = and(eq(erasures.workspaceId, ctx.workspaceId), eq(erasures.contactId, id))
  if ((await ctx.db.$count(erasures, isRunning)) > 0)
    throw new AppError('wrong_state', 'The erasure is not finished; try again within a minute', {
      retryAfterSeconds: 60,
    })
  const isDeletion = and(
    eq(auditEntries.workspaceId, ctx.workspaceId),
    eq(auditEntries.action, 'contact.deleted'),
    eq(auditEntries.subjectId, id),
  )
  if ((await ctx.db.$count(auditEntries, isDeletion)) === 0) throw notFound('Contact')
}

interface ReceiptOptions {
  /** The keys of Redis, if they were searched. */
  redis: { keys: number; traces: readonly string[] } | undefined
  notSearched?: readonly string[]
}

/** Adds the reason to each trace, from the list of what an erasure leaves on purpose. */
export function toErasureReceipt(
  { tables, traces }: Traces,
  { redis, notSearched = [] }: ReceiptOptions,
): ErasureReceipt {
  const inTables = traces.map(({ table, column, rows }) => {
    const place = `${table}.${column}`
    return { place, rows, reason: keptTraces[place] ?? null }
  })
  const inRedis = (redis?.traces ?? []).map((key) => ({ place: `Redis ${key}`, rows: 1, reason: null }))
  return {
    searchedTables: tables,
    searchedRedisKeys: redis?.keys ?? null,
    found: [...inTables, ...inRedis],
    notSearched: [...unreadable, ...notSearched],
  }
}
