/**
 * An import of contacts reads its file twice: the first pass decides what concerns the whole file and commits opt-outs,
 * the second writes contacts. So a killed or canceled import never confirms an address that another row opts out.
 */
import { readCustomFields } from '../custom-fields/custom-fields.ts'
import type { Ctx } from '../request/context.ts'
import { checkChunks, decideDecimalMarks, statusesOfFile } from './check-chunks.ts'
import { createCsvReader, type RowReader } from './file/csv-rows.ts'
import type { ClaimedImport } from './import-claim.ts'
import { createNdjsonReader } from './file/ndjson-rows.ts'
import { readImportRow } from './rows/import-rows.ts'
import { readCells, readObject } from './rows/row-values.ts'
import { suppressionReader } from './rows/suppression-rows.ts'
import { limitTo, readChunks } from './read-chunks.ts'
import { writeChunk } from './writing/write-chunk.ts'
import { writeContactRows } from './writing/write-contact-rows.ts'
import { writeSuppressionRows } from './writing/write-suppression-rows.ts'

/** A chunk is one transaction: large enough to be efficient, small enough not to block others for long. */
const chunk = { maxRows: 1_000, maxBytes: 524_288 }

type Steps = AsyncGenerator<() => Promise<'written' | 'lost'>>

/**
 * Yields the remaining steps of an import, in order. Each saves the progress of one chunk in a transaction, and returns
 * `lost`, without any effect, if the import was canceled or the claim was lost. A step can be run while the next one is read,
 * and has `maxRows` rows at most.
 * Throws `validation_error`, with the line in its details, if the file cannot be imported as a whole.
 */
export function importSteps(ctx: Ctx, claimed: ClaimedImport, maxRows = Infinity): Steps {
  return claimed.kind === 'SUPPRESSIONS' ? suppressionSteps(ctx, claimed, maxRows) : contactSteps(ctx, claimed, maxRows)
}

async function* contactSteps(ctx: Ctx, claimed: ClaimedImport, maxRows: number): Steps {
  const { layout, position, line } = claimed
  const fieldsAtStart = await readCustomFields(ctx, 'CONTACT')
  yield* checkChunks(ctx, claimed, { fields: fieldsAtStart, maxRows })
  const reading = { from: { position, line }, ...limitTo(chunk, maxRows) }
  const ofEveryRow = statusesOfFile(claimed)
  if (!layout) {
    for await (const { rows, ...span } of readChunks(ctx, claimed, { ...reading, readRows: createNdjsonReader() })) {
      const fields = await readCustomFields(ctx, 'CONTACT')
      const parsed = rows.map((row) => readImportRow(readObject(row), { ofEveryRow, fields }))
      yield () => writeChunk(ctx, claimed, { ...span, rows: parsed, write: writeContactRows })
    }
    return
  }
  const decimalMarks = decideDecimalMarks(claimed, fieldsAtStart)
  const readRows = createCsvReader(layout.delimiter)
  for await (const { rows, ...span } of readChunks(ctx, claimed, { ...reading, readRows })) {
    const format = { layout, decimalMarks, fields: await readCustomFields(ctx, 'CONTACT') }
    const parsed = rows.map((row) => readImportRow(readCells(row, format), { ofEveryRow, fields: format.fields }))
    yield () => writeChunk(ctx, claimed, { ...span, rows: parsed, write: writeContactRows })
  }
}

async function* suppressionSteps(ctx: Ctx, claimed: ClaimedImport, maxRows: number): Steps {
  const { layout, position, line } = claimed
  const readRow = suppressionReader(claimed)
  const readRows: RowReader<unknown> = layout ? createCsvReader(layout.delimiter) : createNdjsonReader()
  for await (const { rows, ...span } of readChunks(ctx, claimed, {
    from: { position, line },
    readRows,
    ...limitTo(chunk, maxRows),
  })) {
    const parsed = rows.map(readRow)
    yield () => writeChunk(ctx, claimed, { ...span, rows: parsed, write: writeSuppressionRows })
  }
}
