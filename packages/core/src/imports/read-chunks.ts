/** Reads the rows of an import in constant memory, from the parts of its file in the database. */
import { and, desc, eq, lte } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import { importParts } from '../db/schema/index.ts'
import { type FileLocation, openWindow } from './file/byte-window.ts'
import type { FileRow } from './file/csv-rows.ts'
import { createRowReader } from './file/read-rows.ts'
import type { ImportRecord } from './import-record.ts'

/** Where rows begin and end in the file. */
export interface Span {
  start: FileLocation
  end: FileLocation
}

/** A chunk ends after so many rows or bytes, whichever is first. */
interface ChunkLimits {
  maxRows: number
  maxBytes: number
}

interface Reading extends ChunkLimits {
  from: FileLocation
  /** Leaves out lines of NDJSON before they are parsed. */
  matters?: ((line: Buffer) => boolean) | undefined
}

export const limitTo = (limits: ChunkLimits, maxRows: number): ChunkLimits => ({
  ...limits,
  maxRows: Math.min(limits.maxRows, maxRows),
})

export async function* readChunks(
  ctx: Ctx,
  record: ImportRecord,
  { from, matters, maxRows, maxBytes }: Reading,
): AsyncGenerator<Span & { rows: FileRow<unknown>[] }> {
  const window = openWindow((position) => readPart(ctx, record, position), from)
  const readRows = createRowReader(record.layout, matters)
  for (;;) {
    const start = window.location
    const rows: FileRow<unknown>[] = []
    while (rows.length < maxRows && window.location.position - start.position < maxBytes) {
      const read = await readRows(window, maxRows - rows.length)
      if (read.length === 0) break
      rows.push(...read)
    }
    if (rows.length === 0) return
    yield { rows, start, end: window.location }
  }
}

/** Reads from `position` to the end of its part. Throws if the part is missing, so that a gap is not read as the end. */
async function readPart(ctx: Ctx, { id, size }: ImportRecord, position: number): Promise<Buffer | undefined> {
  if (position >= size) return undefined
  const isBefore = lte(importParts.position, position)
  const [part] = await ctx.db
    .select({ position: importParts.position, bytes: importParts.bytes })
    .from(importParts)
    .where(and(eq(importParts.workspaceId, ctx.workspaceId), eq(importParts.importId, id), isBefore))
    .orderBy(desc(importParts.position))
    .limit(1)
  const bytes = part?.bytes.subarray(position - part.position)
  if (!bytes?.length) throw new Error(`Import file has no data at byte ${position} of ${size}`)
  return bytes
}
