import { and, desc, eq, lte } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { importParts } from '../db/schema/index.ts'
import { type FileLocation, openWindow } from './file/byte-window.ts'
import type { FileRow, RowReader } from './file/csv-rows.ts'
import type { ImportRecord } from './import-record.ts'

/** Rows, and where they begin and end in the file. */
export interface Chunk<Row> {
  rows: Row[]
  start: FileLocation
  end: FileLocation
}

/** A chunk ends after so many rows or bytes, whichever is first. */
interface ChunkLimits {
  maxRows: number
  maxBytes: number
}

interface Reading<Content> extends ChunkLimits {
  from: FileLocation
  readRows: RowReader<Content>
}

export const limitTo = (limits: ChunkLimits, maxRows: number): ChunkLimits => ({
  ...limits,
  maxRows: Math.min(limits.maxRows, maxRows),
})

/** Reads the rows of an import in constant memory. */
export async function* readChunks<Content>(
  ctx: Ctx,
  record: ImportRecord,
  { from, readRows, maxRows, maxBytes }: Reading<Content>,
): AsyncGenerator<Chunk<FileRow<Content>>> {
  const window = openWindow((position) => readPart(ctx, record, position), from)
  for (;;) {
    const start = window.location
    const rows: FileRow<Content>[] = []
    while (rows.length < maxRows && window.location.position - start.position < maxBytes) {
      const read = await readRows(window, maxRows - rows.length)
      if (read.length === 0) break
      rows.push(...read)
    }
    if (rows.length === 0) return
    yield { rows, start, end: window.location }
  }
}

/**
 * Reads from `position` to the end of its part. Throws if the part is missing, so that a gap is not read as the end.
 */
async function readPart(ctx: Ctx, { id, size }: ImportRecord, position: number): Promise<Buffer | undefined> {
  if (position >= size) return undefined
  const [part] = await ctx.db
    .select({ position: importParts.position, bytes: importParts.bytes })
    .from(importParts)
    .where(
      and(
        eq(importParts.workspaceId, ctx.workspaceId),
        eq(importParts.importId, id),
        lte(importParts.position, position),
      ),
    )
    .orderBy(desc(importParts.position))
    .limit(1)
  const bytes = part?.bytes.subarray(position - part.position)
  if (!bytes?.length) throw new Error(`Import file has no data at byte ${position} of ${size}`)
  return bytes
}
