/** Finds email addresses in the texts of programs and people. */

const inBrackets = /(?<=<)[^<>\s]+@[^<>\s]+(?=>)/g
const bare = /[^\s<>,;()"]+@[^\s<>,;()"]+/g

/**
 * The different addresses in a text such as `"Lovelace, Ada" <ada@example.com>`: those in angle brackets, else all. They
 * are not checked.
 */
export function findAddresses(text: string): string[] {
  const start = text.slice(0, 2_000)
  const withoutNames = start.replace(/"(?:[^"\\]|\\.)*"(?!@)/g, ' ')
  const found = withoutNames.match(inBrackets) ?? withoutNames.match(bare) ?? start.match(bare) ?? []
  return [...new Set(found.map(unwrap))]
}

const unwrap = (address: string) =>
  address
    .replace(/^mailto:([^?]*).*$/i, '$1')
    .replace(/^'(.*)'$/, '$1')
    .replace(/\.$/, '')
