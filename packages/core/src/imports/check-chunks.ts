/**
 * The first pass of an import reads what only the whole file can decide: the decimal marks of its numbers, and who opts
 * out. Opt-outs, bounces and complaints are committed here, whatever the order of the rows, so no contact is written
 * before them. A file without numbers and without opt-outs needs no first pass.
 */
import type { CustomFields } from '../custom-fields/custom-fields.ts'
import type { FileStatus } from '../db/schema/imports.ts'
import type { Ctx } from '../request/context.ts'
import { createIgnoredCheck } from './columns/consent-columns.ts'
import { customPrefix } from './columns/match-columns.ts'
import type { FileLocation } from './file/byte-window.ts'
import type { ClaimedImport } from './import-claim.ts'
import type { ImportRecord } from './import-record.ts'
import { limitTo, readChunks, type Span } from './read-chunks.ts'
import { personReader, type PersonRow } from './rows/person-rows.ts'
import { isSaid } from './rows/row-status.ts'
import type { RowError } from './rows/row-values.ts'
import { readCell } from './words/cells.ts'
import { type DecimalMark, decideDecimalMark, findDecimalMarks } from './words/number-format.ts'
import { isOptOut } from './words/statuses.ts'
import { type OptOutRow, recordOptOuts } from './writing/record-opt-outs.ts'
import { addCounts, saveStep, type StepResult, type Steps } from './writing/save-step.ts'

/** Chunks without opt-outs are cheap. */
const chunkOfNumbers = { maxRows: 10_000, maxBytes: 4_194_304 }
const chunkOfOptOuts = { maxRows: 2_000, maxBytes: 1_048_576 }
/** A step without opt-outs reads so much: it takes a fraction of a second. */
const bytesPerStep = 16_777_216

interface Pass {
  fields: CustomFields
  maxRows: number
}

interface Check extends Span {
  optOuts: OptOutRow[]
}

export const statusesOfFile = ({ rowStatus, layout }: ImportRecord): FileStatus[] => [
  ...(rowStatus ? [rowStatus] : []),
  ...(layout?.statuses ?? []),
]

/** Yields a step for each chunk that saves what the pass has found up to there. */
export async function* checkChunks(ctx: Ctx, claimed: ClaimedImport, pass: Pass): Steps {
  const from: FileLocation = { position: claimed.checkedPosition, line: claimed.checkedLine }
  if (claimed.kind !== 'CONTACTS' || from.position >= claimed.size) return
  let [start, last] = [from, from]
  for await (const { end, optOuts } of readChecks(ctx, claimed, { ...pass, from })) {
    last = end
    if (optOuts.length === 0 && end.position - start.position < bytesPerStep) continue
    const check = { start, end, optOuts }
    yield () => saveCheck(ctx, claimed, check)
    start = end
  }
  if (last === from) return
  const check = { start, end: { position: claimed.size, line: last.line }, optOuts: [] }
  yield () => saveCheck(ctx, claimed, check)
}

async function* readChecks(
  ctx: Ctx,
  claimed: ClaimedImport,
  { fields, maxRows, from }: Pass & { from: FileLocation },
): AsyncGenerator<Check> {
  const { layout, findings } = claimed
  const ofEveryRow = statusesOfFile(claimed)
  const isOptOutFile = ofEveryRow.some(isOptOut)
  const numbers = findNumberColumns(claimed, fields).map(({ position }) => position)
  const hasStatuses = !layout || isOptOutFile || layout.columns.some((column) => column !== null && isSaid(column))
  const checkIgnored = createIgnoredCheck(layout)
  if (!hasStatuses && numbers.length === 0 && !checkIgnored) return
  const readPerson = personReader({ layout, fields, ofEveryRow })
  const matters = isOptOutFile ? undefined : mayHaveStatus
  const limits = limitTo(hasStatuses ? chunkOfOptOuts : chunkOfNumbers, maxRows)
  for await (const { rows, ...span } of readChunks(ctx, claimed, { from, matters, ...limits })) {
    for (const row of rows) {
      checkIgnored?.(row)
      if (!layout || numbers.length === 0 || 'error' in row) continue
      const cells = (row.content as string[]).map(readCell)
      findDecimalMarks(findings, { delimiter: layout.delimiter, columns: numbers }, { line: row.line, cells })
    }
    yield { ...span, optOuts: hasStatuses ? rows.flatMap((row) => toOptOut(readPerson(row))) : [] }
  }
}

/** None if the row says nothing against emails, or has no key of a person. */
function toOptOut(row: PersonRow | RowError): OptOutRow[] {
  if ('message' in row) return []
  const { email, externalId, status } = row
  const statuses = [...new Set(status?.statuses.filter(isOptOut))]
  if (statuses.length === 0 || (email === undefined && externalId === undefined)) return []
  return [{ email, externalId, statuses, at: status?.unsubscribedAt, exported: status?.exported }]
}

/** A property can be written with escapes. */
const mayHaveStatus = (line: Buffer) => ['status', 'Status', 'unsubscribedAt', '\\'].some((part) => line.includes(part))

function findNumberColumns({ layout }: ImportRecord, fields: CustomFields): { position: number; name: string }[] {
  const isNumber = (name: string) =>
    name.startsWith(customPrefix) && fields.get(name.slice(customPrefix.length))?.type === 'NUMBER'
  return (layout?.columns ?? []).flatMap((name, position) => (name && isNumber(name) ? [{ position, name }] : []))
}

/** The decimal mark of each column with numbers, by position. Throws `validation_error` if a column has no clear one. */
export function decideDecimalMarks(record: ImportRecord, fields: CustomFields): Map<number, DecimalMark> {
  const columns = findNumberColumns(record, fields)
  return new Map(
    columns.map(({ position, name }) => [position, decideDecimalMark(record.findings[position] ?? {}, name)]),
  )
}

function saveCheck(ctx: Ctx, claimed: ClaimedImport, { start, end, optOuts }: Check): Promise<StepResult> {
  const save = async (ctx: Ctx, current: ImportRecord) => {
    const counts = await recordOptOuts(ctx, claimed, optOuts)
    return {
      checkedPosition: end.position,
      checkedLine: end.line,
      findings: claimed.findings,
      ...addCounts(current, counts),
    }
  }
  return saveStep(ctx, claimed, { start, end, pass: 'checkedPosition', save })
}
