/**
 * Numbers in CSV files are written for people: "1,234.56", "1.234,56", "1 234,56". One cell can be unclear: "1.234" is
 * a thousand in one country and a little more than one in another. So the whole column decides, before any row is
 * written.
 */
import type { Findings } from '../../db/schema/imports.ts'
import { AppError } from '../../kernel/errors.ts'

export type DecimalMark = 'point' | 'comma'

/** Digits, also in groups of three that are separated by one of `separators`; then decimals and an exponent. */
const pattern = (separators: string, mark: string) =>
  new RegExp(
    `^(?<whole>[+-]?(?:\\d+|[1-9]\\d{0,2}(?<separator>[${separators}'\u2019 \u00a0\u202f])\\d{3}(?:\\k<separator>\\d{3})*))?(?:${mark}(?<decimals>\\d+))?(?<exponent>e[+-]?\\d+)?$`,
    'i',
  )
const patterns: Record<DecimalMark, RegExp> = { point: pattern(',', '\\.'), comma: pattern('.', ',') }

/** Returns a number as JSON writes it, such as "-1234.5"; undefined if the text is no number with this decimal mark. */
export function normalizeNumber(text: string, mark: DecimalMark): string | undefined {
  const groups = patterns[mark].exec(text.trim())?.groups
  if (groups?.['whole'] === undefined && groups?.['decimals'] === undefined) return undefined
  const { whole = '0', decimals, exponent = '' } = groups
  const digits = whole.replaceAll(/[^\d-]/g, '')
  return `${digits}${decimals === undefined ? '' : `.${decimals}`}${exponent}`
}

interface NumberColumns {
  delimiter: string
  columns: readonly number[]
}

/** Adds what the cells of a row show about the decimal marks of their columns. */
export function findDecimalMarks(
  findings: Findings,
  { delimiter, columns }: NumberColumns,
  row: { line: number; cells: readonly string[] },
): void {
  for (const column of columns) {
    const text = row.cells[column] ?? ''
    const [point, comma] = [normalizeNumber(text, 'point'), normalizeNumber(text, 'comma')]
    if (point === comma) continue
    // Programs that separate cells by semicolons write decimal commas. In other files "1.234" has a decimal point.
    if (point !== undefined && comma !== undefined && delimiter !== ';' && text.includes('.')) continue
    const shown = point === undefined ? 'comma' : comma === undefined ? 'point' : 'unclear'
    findings[column] = { [shown]: row.line, ...findings[column] }
  }
}

/**
 * Decides the decimal mark of a column; without evidence it is the point. Throws `validation_error` with the line if the
 * column shows both marks, or has only numbers such as "1,234" that can be read in two ways.
 */
export function decideDecimalMark({ point, comma, unclear }: Findings[string], column: string): DecimalMark {
  if (point !== undefined && comma !== undefined)
    throw unclearColumn(
      Math.max(point, comma),
      `${column}: has decimal points (line ${point}) and decimal commas (line ${comma})`,
    )
  if (comma !== undefined) return 'comma'
  if (point !== undefined || unclear === undefined) return 'point'
  throw unclearColumn(unclear, `${column}: numbers can be read with decimals or with thousands separators`)
}

function unclearColumn(line: number, message: string): AppError {
  return new AppError('validation_error', `${message}. Write them like 1234.56`, { details: { line } })
}
