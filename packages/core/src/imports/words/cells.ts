/** The text of a cell, as the program meant it that wrote the file. */
import { unescapeFormulas } from '../../contacts/export/escape-formulas.ts'

export const readCell = (cell: string) => unescapeFormulas(unwrapText(cell))

/** Programs write `="0049"` so that a spreadsheet keeps the zeros of a text. */
function unwrapText(cell: string): string {
  const text = cell.includes('="') ? /^\s*="(.*)"\s*$/s.exec(cell)?.[1] : undefined
  return text === undefined ? cell : text.replaceAll('""', '"')
}
