/** Imports from beginning to end as API and worker do them together, without either process. */
import { sql } from 'drizzle-orm'
import type { Ctx } from '../context.ts'
import { uuidOf } from '../ids.ts'
import { type ClaimedImport, claimImport, clearImport, finishImport } from '../imports/import-work.ts'
import { queueImport, readImport, receiveImport } from '../imports/imports.ts'
import { type Import, ImportOptions } from '../imports/imports.schema.ts'
import { readChunks } from '../imports/read-chunks.ts'
import { writeChunk } from '../imports/write-chunk.ts'
import { createTestWorker } from './factories.ts'

/** A file: text, bytes, or lines by the thousand. */
type File = string | Buffer | Iterable<string>

export type TestImport = Partial<Record<'onConflict' | 'listId' | 'dryRun' | 'events', string>> & {
  format?: 'csv' | 'ndjson'
}

/** Takes a file in and queues it. With `listId`, everyone consented. */
export async function queueFile(ctx: Ctx, file: File, given: TestImport = {}): Promise<Import> {
  const { format = 'csv', ...query } = given
  const options = ImportOptions.parse({ ...query, ...(query.listId && { consent: 'confirmed' }) })
  return queueImport(ctx, await receiveImport(ctx, { ...options, format }, toBytes(file)))
}

/** Imports a file and answers the record of it. */
export async function importFile(ctx: Ctx, file: File, given: TestImport = {}): Promise<Import> {
  const { id } = await queueFile(ctx, file, given)
  await runQueued(ctx, id)
  return readImport(ctx, id)
}

/** Does what a worker does with a queued import. */
export async function runQueued(ctx: Ctx, id: string): Promise<void> {
  const claimed = await claimForTest(ctx, id)
  for await (const chunk of readChunks(ctx, claimed)) await writeChunk(ctx, claimed, chunk)
  await finishImport(ctx, claimed)
  await clearImport(ctx, claimed)
}

export async function claimForTest(ctx: Ctx, id: string): Promise<ClaimedImport> {
  const claimed = await claimImport(ctx, uuidOf(id), await createTestWorker(ctx.db))
  if (!claimed) throw new Error(`${id} cannot be claimed`)
  return claimed
}

/** How many rows a table has of the workspace. */
export async function countRows(ctx: Ctx, table: string): Promise<number> {
  const result = await ctx.db.execute(sql`
    select from ${sql.identifier(table)} where workspace_id = ${uuidOf(ctx.workspaceId)}`)
  return result.rowCount ?? 0
}

async function* toBytes(file: File): AsyncGenerator<Buffer> {
  if (typeof file === 'string' || Buffer.isBuffer(file)) yield Buffer.from(file as string)
  else for (const text of file) yield Buffer.from(text)
}
