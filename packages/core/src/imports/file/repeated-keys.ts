/** Finds a key that an object of a JSON text has twice: `JSON.parse` keeps the last value. */

/** `value` is what the text was parsed to. Most texts have as many keys as the value, which is quick to see. */
export function findRepeatedKey(text: string, value: unknown): string | undefined {
  return countMarks(text) > countKeys(value) ? scan(text) : undefined
}

/** Each key is followed by a colon, but strings can look like it. */
const mark = /"\s*:/g
const countMarks = (text: string) => text.match(mark)?.length ?? 0

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  if (Array.isArray(value)) return value.reduce((sum: number, one) => sum + countKeys(one), 0)
  return Object.values(value).reduce((sum: number, one) => sum + countKeys(one), Object.keys(value).length)
}

const tokens = /"(?:[^"\\]|\\.)*"(?<colon>\s*:)?|[{}]/gs

function scan(text: string): string | undefined {
  const open: Set<string>[] = []
  for (const [token, colon] of text.matchAll(tokens)) {
    if (token === '{') open.push(new Set())
    else if (token === '}') open.pop()
    else if (colon !== undefined) {
      const key = JSON.parse(token.slice(0, token.length - colon.length)) as string
      const keys = open.at(-1)
      if (keys?.has(key)) return key
      keys?.add(key)
    }
  }
  return undefined
}
