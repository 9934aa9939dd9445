import { and, desc, eq, lte } from 'drizzle-orm'
import { type CustomFields, readCustomFields } from '../custom-fields/custom-fields.ts'
import type { Ctx } from '../request/context.ts'
import { importParts } from '../db/schema/index.ts'
import { type ByteWindow, openWindow, type FileLocation } from './byte-window.ts'
import { createCsvReader } from './csv-rows.ts'
import { parseCsvRow, parseJsonRow, type ImportRow } from './import-rows.ts'
import type { ImportRecord } from './imports.ts'
import { readNdjsonRows } from './ndjson-rows.ts'

/** Validated rows, and where they begin and end in the file. */
export interface Chunk {
  rows: ImportRow[]
  start: FileLocation
  end: FileLocation
}

/** A chunk is one transaction: large enough to be efficient, small enough not to block others for long. */
const chunkRows = 1_000
const chunkBytes = 524_288

/**
 * Reads the remaining chunks of an import in constant memory. Rows are validated against the custom fields that exist
 * when their chunk is read.
 */
export async function* readChunks(ctx: Ctx, record: ImportRecord): AsyncGenerator<Chunk> {
  const window = openWindow((position) => readPart(ctx, record, position), record)
  const readRows = createRowReader(record)
  for (;;) {
    const start = window.location
    const fields = await readCustomFields(ctx)
    const rows: ImportRow[] = []
    while (rows.length < chunkRows && window.location.position - start.position < chunkBytes) {
      const read = await readRows(window, { maxRows: chunkRows - rows.length, fields })
      if (read.length === 0) break
      rows.push(...read)
    }
    if (rows.length === 0) return
    yield { rows, start, end: window.location }
  }
}

type ReadRows = (window: ByteWindow, options: { maxRows: number; fields: CustomFields }) => Promise<ImportRow[]>

function createRowReader({ layout }: ImportRecord): ReadRows {
  if (!layout) {
    return async (window, { maxRows, fields }) =>
      (await readNdjsonRows(window, maxRows)).map((row) => parseJsonRow(row, fields))
  }
  const read = createCsvReader(layout.delimiter)
  return async (window, { maxRows, fields }) =>
    (await read(window, maxRows)).map((row) => parseCsvRow(row, layout, fields))
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
