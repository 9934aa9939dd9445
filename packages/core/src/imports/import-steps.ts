/**
 * An import of contacts reads its file twice: the first pass decides what concerns the whole file and commits opt-outs,
 * the second writes contacts. So a killed or canceled import never confirms an address that another row opts out.
 */
import { readCustomFields } from '../custom-fields/custom-fields.ts'
import type { Ctx } from '../request/context.ts'
import { checkChunks, decideDecimalMarks, statusesOfFile } from './check-chunks.ts'
import type { FileRow } from './file/csv-rows.ts'
import type { ClaimedImport } from './import-claim.ts'
import { limitTo, readChunks } from './read-chunks.ts'
import { contactReader } from './rows/person-rows.ts'
import { suppressionReader } from './rows/suppression-rows.ts'
import type { Steps } from './writing/save-step.ts'
import { type WriteRows, writeChunk } from './writing/write-chunk.ts'
import { writeContactRows } from './writing/write-contact-rows.ts'
import { writeSuppressionRows } from './writing/write-suppression-rows.ts'

/** A chunk is one transaction: large enough to be efficient, small enough not to block others for long. */
const chunk = { maxRows: 1_000, maxBytes: 524_288 }

/**
 * Yields the remaining steps of an import, in order. A step can be run while the next one is read, and has `maxRows` rows at
 * most. Throws `validation_error`, with the line in its details, if the file cannot be imported as a whole.
 */
export async function* importSteps(ctx: Ctx, claimed: ClaimedImport, maxRows = Infinity): Steps {
  if (claimed.kind === 'SUPPRESSIONS') {
    const read = suppressionReader(claimed)
    yield* writeSteps(ctx, claimed, { maxRows, getReader: async () => read, write: writeSuppressionRows })
    return
  }
  const { layout } = claimed
  const fields = await readCustomFields(ctx, 'CONTACT')
  yield* checkChunks(ctx, claimed, { fields, maxRows })
  const format = { layout, ofEveryRow: statusesOfFile(claimed), decimalMarks: decideDecimalMarks(claimed, fields) }
  const getReader = async () => contactReader({ ...format, fields: await readCustomFields(ctx, 'CONTACT') })
  yield* writeSteps(ctx, claimed, { maxRows, getReader, write: writeContactRows })
}

interface Writing<Row> {
  maxRows: number
  getReader: () => Promise<(row: FileRow<unknown>) => Row>
  write: WriteRows<Row>
}

async function* writeSteps<Row>(ctx: Ctx, claimed: ClaimedImport, { maxRows, getReader, write }: Writing<Row>): Steps {
  const { position, line } = claimed
  for await (const { rows, ...span } of readChunks(ctx, claimed, {
    from: { position, line },
    ...limitTo(chunk, maxRows),
  })) {
    const parsed = rows.map(await getReader())
    yield () => writeChunk(ctx, claimed, { ...span, rows: parsed, write })
  }
}
