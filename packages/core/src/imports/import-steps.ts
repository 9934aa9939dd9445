/** An import reads its file twice: the first pass decides what concerns the whole file, the second writes contacts. */
import { readCustomFields } from '../custom-fields/custom-fields.ts'
import type { Ctx } from '../request/context.ts'
import { checkChunks, decideDecimalMarks } from './check-chunks.ts'
import { createCsvReader } from './file/csv-rows.ts'
import type { ClaimedImport } from './import-claim.ts'
import { parseCsvRow, parseJsonRow } from './import-rows.ts'
import { readNdjsonRows } from './file/ndjson-rows.ts'
import { readChunks } from './read-chunks.ts'
import { writeChunk } from './write-chunk.ts'

/** A chunk is one transaction: large enough to be efficient, small enough not to block others for long. */
const chunk = { maxRows: 1_000, maxBytes: 524_288 }

/**
 * Yields the remaining steps of an import, in order. Each saves the progress of one chunk in a transaction, and returns
 * `lost`, without any effect, if the import was canceled or the claim was lost. A step can be run while the next one is read.
 * Throws `validation_error`, with the line in its details, if the file cannot be imported as a whole.
 */
export async function* importSteps(
  ctx: Ctx,
  claimed: ClaimedImport,
): AsyncGenerator<() => Promise<'written' | 'lost'>> {
  const { layout, position, line } = claimed
  const fieldsAtStart = await readCustomFields(ctx)
  yield* checkChunks(ctx, claimed, fieldsAtStart)
  const reading = { from: { position, line }, ...chunk }
  if (!layout) {
    for await (const { rows, ...span } of readChunks(ctx, claimed, { ...reading, readRows: readNdjsonRows })) {
      const parsed = rows.map(parseJsonRow)
      yield () => writeChunk(ctx, claimed, { ...span, rows: parsed })
    }
    return
  }
  const decimalMarks = decideDecimalMarks(claimed, fieldsAtStart)
  const readRows = createCsvReader(layout.delimiter)
  for await (const { rows, ...span } of readChunks(ctx, claimed, { ...reading, readRows })) {
    const format = { layout, decimalMarks, fields: await readCustomFields(ctx) }
    const parsed = rows.map((row) => parseCsvRow(row, format))
    yield () => writeChunk(ctx, claimed, { ...span, rows: parsed })
  }
}
