/** Finds email addresses in the texts of programs and people. */

const inBrackets = /(?<=<)(?:"(?:[^"\\]|\\.)*"|[^<>\s]+)@[^<>\s]+(?=>)/g
const bare = /(?:"(?:[^"\\]|\\.)*"|[^\s<>,;()"]+)@[^\s<>,;()"]+/g

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
  unquoteLocalPart(
    address
      .replace(/^mailto:([^?]*).*$/i, '$1')
      .replace(/^'(.*)'$/, '$1')
      .replace(/\.$/, ''),
  )

/** Quotation marks around a local part are not a part of it: `"ada"@example.com` is `ada@example.com` (RFC 5321). */
export const unquoteLocalPart = (address: string) =>
  address.replace(/^"((?:[^"\\]|\\.)*)"(?=@)/, (_, local: string) => local.replaceAll(/\\(.)/g, '$1'))
