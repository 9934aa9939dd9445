/** The API's side of an import: receives the file, queues, reports and cancels it. */
import { and, eq, inArray, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { AppError, conflict, notFound } from '../kernel/errors.ts'
import { type ImportId, newId, uuidOf } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { enqueue } from '../work/enqueue.ts'
import { requeueWork } from '../work/publish.ts'
import { emit } from '../events/emit.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { importParts, imports } from '../db/schema/index.ts'
import { readQuotas } from '../quotas/require-quota.ts'
import { decode, requireUtf8 } from './file/file-encoding.ts'
import { createImport, type ReceiveOptions } from './create-import.ts'
import { endStatuses, importCompleted, type ImportRecord, lockImport, toImport } from './import-record.ts'
import type { Import, ImportQuery } from './imports.schema.ts'
import { deleteParts } from './purge-imports.ts'

const partBytes = 1_048_576

/**
 * Receives a file part by part, in constant memory, and returns the id of the import, which waits for `queueImport`.
 * Throws `validation_error` if the header, read from the first part, is not valid or the file is not UTF-8, and
 * `quota_exceeded` if the workspace has too many unfinished imports. After any error, the stored data is deleted.
 */
export async function receiveImport(ctx: Ctx, options: ReceiveOptions, file: AsyncIterable<Buffer>): Promise<ImportId> {
  const { importBytes } = await readQuotas(ctx)
  const id = newId('imp')
  let size = 0
  try {
    for await (const part of requireUtf8(splitIntoParts(decode(file, options.encoding)))) {
      if (size + part.length > importBytes)
        throw new AppError('payload_too_large', `The file is larger than ${importBytes} bytes`)
      if (size === 0) await createImport(ctx, { ...options, id }, part)
      await storePart(ctx, id, { position: size, bytes: part })
      size += part.length
    }
    if (size === 0) throw new AppError('validation_error', 'The file is empty')
    return id
  } catch (error) {
    // If the database is unavailable, maintenance deletes the data later.
    await discardImport(ctx, id).catch(() => {})
    throw error
  }
}

/** Queues an import whose file is complete. Records it in the audit log, unless it is a dry run. */
export function queueImport(ctx: Ctx, id: ImportId): Promise<Import> {
  return inTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .update(imports)
      .set({ status: 'QUEUED' })
      .where(and(byId(imports, ctx, id), eq(imports.status, 'RECEIVING')))
      .returning()
    if (!row) throw uploadCanceled()
    await enqueue(ctx, 'IMPORT', id)
    if (row.dryRun) return toImport(row)
    if (row.kind === 'SUPPRESSIONS') await audit(ctx, 'suppressions.imported', { subjectId: id })
    else await audit(ctx, 'contacts.imported', { subjectId: id, listId: row.listId })
    return toImport(row)
  })
}

/** The upload of the import was canceled, or did not proceed for an hour. */
const uploadCanceled = () => conflict('wrong_state', 'The import was canceled during its upload')

/** Deletes an import that was not queued, with its file. */
export async function discardImport(ctx: Ctx, id: ImportId): Promise<void> {
  const isReceiving = and(byId(imports, ctx, id), eq(imports.status, 'RECEIVING'))
  while ((await deleteParts(ctx, isReceiving)) > 0);
  await ctx.db.delete(imports).where(isReceiving)
}

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

export async function readImport(ctx: Ctx, id: ImportId): Promise<Import> {
  const [row] = await ctx.db
    .select()
    .from(imports)
    .where(byId(imports, ctx, id))
  if (!row) throw notFound('Import')
  return toImport(row)
}

export async function listImports(ctx: Ctx, query: ImportQuery): Promise<Page<Import>> {
  const page = await readPage<ImportRecord>(ctx, {
    name: 'imports',
    query,
    ...byCreation<ImportRecord>(imports),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(imports)
        .where(
          and(
            eq(imports.workspaceId, ctx.workspaceId),
            query.status && inArray(imports.status, storedStatuses(query.status)),
            isCreatedInRange(imports, query),
            after,
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toImport) }
}

/** An import whose file is still being received is shown as QUEUED. */
const storedStatuses = (status: Import['status']) => (status === 'QUEUED' ? ['RECEIVING' as const, status] : [status])

async function* splitIntoParts(file: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pieces: Buffer[] = []
  let size = 0
  for await (const piece of file) {
    pieces.push(piece)
    size += piece.length
    if (size < partBytes) continue
    let rest = Buffer.concat(pieces)
    for (; rest.length >= partBytes; rest = rest.subarray(partBytes)) yield rest.subarray(0, partBytes)
    ;[pieces, size] = [[rest], rest.length]
  }
  if (size > 0) yield Buffer.concat(pieces)
}

/** Locks the import first: a part that is stored while the import is being canceled would never be deleted. */
function storePart(ctx: Ctx, id: ImportId, part: { position: number; bytes: Buffer }): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const updated = await ctx.db
      .update(imports)
      .set({ size: part.position + part.bytes.length, receivedAt: sql`now()` })
      .where(and(byId(imports, ctx, id), eq(imports.status, 'RECEIVING')))
      .returning({ id: imports.id })
    if (updated.length === 0) throw uploadCanceled()
    await ctx.db.insert(importParts).values({ workspaceId: ctx.workspaceId, importId: id, ...part })
  })
}
