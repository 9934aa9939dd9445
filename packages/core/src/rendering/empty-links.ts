import { Parser } from 'htmlparser2'

/** Removes the links that lead nowhere, with their texts: those to unsubscribe and to the preferences. */
export function removeEmptyLinks(html: string): string {
  let [result, position] = ['', 0]
  let start: number | undefined
  function endLink(at: number): void {
    if (start === undefined) return
    result += html.slice(position, start)
    position = at
    start = undefined
  }
  const parser = new Parser({
    onopentag(name, { href }) {
      if (name !== 'a') return
      // A link within a link ends the first one.
      endLink(parser.startIndex)
      if (href !== undefined && href.trim() === '') start = parser.startIndex
    },
    onclosetag(name, isImplied) {
      // A link that is never closed ends with the element around it, whose end stays.
      if (name === 'a') endLink(isImplied ? parser.startIndex : parser.endIndex + 1)
    },
  })
  parser.end(html)
  return result + html.slice(position)
}
