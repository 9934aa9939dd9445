/**
 * The first pass of an import reads what only the whole file can decide: the decimal marks of its numbers, and who opts
 * out. Opt-outs, bounces and complaints are committed here, whatever the order of the rows, so no contact is written
 * before them. A file without numbers and without opt-outs needs no first pass.
 */
import { sql } from 'drizzle-orm'
import type { CustomFields } from '../custom-fields/custom-fields.ts'
import { imports } from '../db/schema/index.ts'
import type { FileStatus } from '../db/schema/imports.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import type { FileLocation } from './file/byte-window.ts'
import { createCsvReader, type RowReader } from './file/csv-rows.ts'
import { customPrefix } from './file/match-columns.ts'
import { createNdjsonReader } from './file/ndjson-rows.ts'
import { createIgnoredCheck } from './file/ignored-columns.ts'
import { type DecimalMark, decideDecimalMark, findDecimalMarks } from './file/number-format.ts'
import { isOptOut } from './rows/file-status.ts'
import { type ClaimedImport, lockClaimedImport } from './import-claim.ts'
import { type PersonRow, readPerson } from './rows/import-rows.ts'
import type { RowError } from './rows/row-errors.ts'
import { readCells, readObject } from './rows/row-values.ts'
import type { ImportRecord } from './import-record.ts'
import { type Chunk, limitTo, readChunks } from './read-chunks.ts'
import { type OptOutRow, recordOptOuts } from './writing/record-opt-outs.ts'
import { statusProperties } from './rows/row-status.ts'

/** Chunks without opt-outs are cheap. */
const chunkOfNumbers = { maxRows: 10_000, maxBytes: 4_194_304 }
const chunkOfOptOuts = { maxRows: 2_000, maxBytes: 1_048_576 }

/** What the pass needs beside the file. */
interface Pass {
  fields: CustomFields
  /** The most rows of a step. */
  maxRows: number
}

interface Check extends Pick<Chunk<unknown>, 'start' | 'end'> {
  optOuts: OptOutRow[]
}

/** The statuses that the request and the header give every row. */
export const statusesOfFile = ({ rowStatus, layout }: ImportRecord): FileStatus[] => [
  ...(rowStatus ? [rowStatus] : []),
  ...(layout?.statuses ?? []),
]

/**
 * Yields a function for each chunk that saves what the pass has found up to there. A function returns `lost`, without
 * any effect, if the import was canceled or the claim was lost.
 */
export async function* checkChunks(
  ctx: Ctx,
  claimed: ClaimedImport,
  pass: Pass,
): AsyncGenerator<() => Promise<'written' | 'lost'>> {
  const from = checkedUntil(claimed)
  if (claimed.kind !== 'CONTACTS' || from.position >= claimed.size) return
  let [start, last] = [from, from]
  for await (const { end, optOuts } of claimed.layout
    ? checkCsv(ctx, claimed, pass)
    : checkNdjson(ctx, claimed, pass)) {
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

/** A step without opt-outs reads so much: it takes a fraction of a second. */
const bytesPerStep = 16_777_216

const checkedUntil = ({ checkedPosition, checkedLine }: ImportRecord): FileLocation => ({
  position: checkedPosition,
  line: checkedLine,
})

async function* checkCsv(ctx: Ctx, claimed: ClaimedImport, { fields, maxRows }: Pass): AsyncGenerator<Check> {
  const { layout, findings } = claimed
  const columns = findNumberColumns(claimed, fields).map((column) => column.position)
  const ofEveryRow = statusesOfFile(claimed)
  const saysOptOut = (column: string | null) => column !== null && statusProperties.includes(column)
  const hasStatuses = layout?.columns.some(saysOptOut) || ofEveryRow.some(isOptOut)
  const ignored = createIgnoredCheck(layout)
  if (!layout || (columns.length === 0 && !hasStatuses && !ignored)) return
  const format = { layout, fields, decimalMarks: new Map<number, DecimalMark>() }
  const limits = limitTo(hasStatuses ? chunkOfOptOuts : chunkOfNumbers, maxRows)
  const readRows = createCsvReader(layout.delimiter)
  for await (const { rows, start, end } of readChunks(ctx, claimed, {
    from: checkedUntil(claimed),
    readRows,
    ...limits,
  })) {
    for (const row of rows) {
      if ('content' in row)
        findDecimalMarks(findings, { delimiter: layout.delimiter, columns }, { line: row.line, cells: row.content })
    }
    for (const row of rows) ignored?.(row)
    const people = hasStatuses ? rows.map((row) => readPerson(readCells(row, format), { ofEveryRow })) : []
    yield { start, end, optOuts: people.flatMap(toOptOut) }
  }
}

async function* checkNdjson(ctx: Ctx, claimed: ClaimedImport, { maxRows }: Pass): AsyncGenerator<Check> {
  const ofEveryRow = statusesOfFile(claimed)
  const readRows: RowReader<unknown> = createNdjsonReader(ofEveryRow.some(isOptOut) ? undefined : mayHaveStatus)
  const from = checkedUntil(claimed)
  const reading = { from, readRows, ...limitTo(chunkOfOptOuts, maxRows) }
  for await (const { rows, start, end } of readChunks(ctx, claimed, reading))
    yield { start, end, optOuts: rows.flatMap((row) => toOptOut(readPerson(readObject(row), { ofEveryRow }))) }
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

interface NumberColumn {
  position: number
  name: string
}

function findNumberColumns({ layout }: ImportRecord, fields: CustomFields): NumberColumn[] {
  const isNumber = (name: string | null) =>
    name?.startsWith(customPrefix) && fields.get(name.slice(customPrefix.length))?.type === 'NUMBER'
  return (layout?.columns ?? []).flatMap((name, position) => (name && isNumber(name) ? [{ position, name }] : []))
}

/** The decimal mark of each column with numbers, by position. Throws `validation_error` if a column has no clear one. */
export function decideDecimalMarks(record: ImportRecord, fields: CustomFields): Map<number, DecimalMark> {
  const columns = findNumberColumns(record, fields)
  return new Map(
    columns.map(({ position, name }) => [position, decideDecimalMark(record.findings[position] ?? {}, name)]),
  )
}

/** Idempotent, and in order, like `writeChunk`. */
function saveCheck(ctx: Ctx, claimed: ClaimedImport, { start, end, optOuts }: Check): Promise<'written' | 'lost'> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockClaimedImport(ctx, claimed)
    if (!current) return 'lost'
    const { checkedPosition: position } = current
    if (position === end.position && position !== start.position) return 'written'
    if (position !== start.position) return 'lost'
    const counts = await recordOptOuts(ctx, claimed, optOuts)
    await ctx.db
      .update(imports)
      .set({
        checkedPosition: end.position,
        checkedLine: end.line,
        findings: claimed.findings,
        optedOut: sql`${imports.optedOut} + ${counts.optedOut}`,
        suppressed: sql`${imports.suppressed} + ${counts.suppressed}`,
      })
      .where(byId(imports, ctx, claimed.id))
    return 'written'
  })
}
