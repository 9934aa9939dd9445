/**
 * Spreadsheets run a cell that begins with a sign such as "=" as a formula. An export puts an apostrophe before it.
 *
 * A spreadsheet whose separator is not the comma also splits cells: at semicolons and tabs and, because it then ignores
 * the quotation marks, at line breaks. Each of these parts is therefore escaped like a cell. Whitespace, quotation
 * marks and apostrophes before a sign make no difference. As apostrophes are among them, a text that already looks
 * escaped is escaped again, and `unescapeFormulas` restores every text.
 */

/** The last four are the full-width forms. */
const signs = new Set('=+-@＝＋－＠')
/** Most cells have no part that could be a formula. */
const canHaveFormulas = (text: string) => /^[\s"']*[=+\-@＝＋－＠]|^'*[\t\r\n]|[;\t\r\n]/.test(text)

export function escapeFormulas(text: string): string {
  const starts = findFormulas(text)
  if (starts.length === 0) return text
  const parts = starts.map((start, index) => text.slice(start, starts[index + 1]))
  return `${text.slice(0, starts[0])}'${parts.join("'")}`
}

/** Removes the apostrophes that `escapeFormulas` adds. */
export function unescapeFormulas(text: string): string {
  const starts = findFormulas(text).filter((start) => text[start] === "'")
  if (starts.length === 0) return text
  const parts = starts.map((start, index) => text.slice(start + 1, starts[index + 1]))
  return `${text.slice(0, starts[0])}${parts.join('')}`
}

/**
 * Returns where the formulas begin, in ascending order. Reads backwards: a regular expression would take quadratic
 * time.
 */
function findFormulas(text: string): number[] {
  if (!canHaveFormulas(text)) return []
  const starts: number[] = []
  let isBeforeSign = false
  for (let index = text.length - 1; index >= 0; index--) {
    const character = text.charAt(index)
    isBeforeSign = signs.has(character) || (isBeforeSign && isIgnored(character))
    if (isBeforeSign && isStartOfPart(text, index)) starts.push(index)
  }
  // Spreadsheets may drop a tab or line break at the start of a cell.
  if (starts.at(-1) !== 0 && /^'*[\t\r\n]/.test(text)) starts.push(0)
  return starts.toReversed()
}

const isIgnored = (character: string) => character === '"' || character === "'" || character.trim() === ''

function isStartOfPart(text: string, index: number): boolean {
  const previous = text[index - 1]
  // A CRLF is one line break.
  if (previous === '\r') return text[index] !== '\n'
  return previous === undefined || previous === ';' || previous === '\t' || previous === '\n'
}
