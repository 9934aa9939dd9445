/**
 * The first pass of an import reads what only the whole file can decide, and writes nothing: the decimal marks of its
 * numbers. So a file that cannot be read as a whole fails before any contact is written. A file without a column of
 * numbers needs no first pass.
 */
import type { CustomFields } from '../custom-fields/custom-fields.ts'
import { imports } from '../db/schema/index.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import type { FileLocation } from './file/byte-window.ts'
import { createCsvReader } from './file/csv-rows.ts'
import { type ClaimedImport, lockClaimedImport } from './import-claim.ts'
import { customPrefix } from './file/import-header.ts'
import type { ImportRecord } from './imports.ts'
import { type DecimalMark, decideDecimalMark, findDecimalMarks } from './file/number-format.ts'
import { readChunks } from './read-chunks.ts'

/** Larger than those of the second pass, because they are cheap. */
const chunk = { maxRows: 10_000, maxBytes: 4_194_304 }

interface NumberColumn {
  position: number
  name: string
}

function findNumberColumns({ layout }: ImportRecord, fields: CustomFields): NumberColumn[] {
  const isNumber = (name: string | null) =>
    name?.startsWith(customPrefix) && fields.get(name.slice(customPrefix.length))?.type === 'NUMBER'
  return (layout?.columns ?? []).flatMap((name, position) => (name && isNumber(name) ? [{ position, name }] : []))
}

/**
 * Yields a function for each chunk that saves what the pass has found up to there. A function returns `lost`, without
 * any effect, if the import was canceled or the claim was lost.
 */
export async function* checkChunks(
  ctx: Ctx,
  claimed: ClaimedImport,
  fields: CustomFields,
): AsyncGenerator<() => Promise<'written' | 'lost'>> {
  const { layout, findings, position, checkedPosition, size } = claimed
  const columns = findNumberColumns(claimed, fields).map((column) => column.position)
  // The release before made no first pass: the rows up to `position` are written, and their parts deleted.
  const from = checkedPosition < position ? claimed : { position: checkedPosition, line: claimed.checkedLine }
  if (!layout || columns.length === 0 || from.position >= size) return
  const readRows = createCsvReader(layout.delimiter)
  for await (const { rows, end } of readChunks(ctx, claimed, { from, readRows, ...chunk })) {
    for (const row of rows) {
      if ('content' in row)
        findDecimalMarks(findings, { delimiter: layout.delimiter, columns }, { line: row.line, cells: row.content })
    }
    yield () => saveFindings(ctx, claimed, end)
  }
  yield () => saveFindings(ctx, claimed, { position: size, line: claimed.checkedLine })
}

/** The decimal mark of each column with numbers, by position. Throws `validation_error` if a column has no clear one. */
export function decideDecimalMarks(record: ImportRecord, fields: CustomFields): Map<number, DecimalMark> {
  const columns = findNumberColumns(record, fields)
  return new Map(
    columns.map(({ position, name }) => [position, decideDecimalMark(record.findings[position] ?? {}, name)]),
  )
}

function saveFindings(ctx: Ctx, claimed: ClaimedImport, end: FileLocation): Promise<'written' | 'lost'> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockClaimedImport(ctx, claimed)
    // A statement that arrives after its retry must not undo later findings.
    if (!current || current.checkedPosition > end.position) return 'lost'
    await ctx.db
      .update(imports)
      .set({ checkedPosition: end.position, checkedLine: end.line, findings: claimed.findings })
      .where(byId(imports, ctx, claimed.id))
    return 'written'
  })
}
