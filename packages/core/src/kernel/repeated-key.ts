/** Finds what `JSON.parse` hides: of a key that an object has twice, it keeps the last value. */

/** The path of the first such key, such as `filter.tags.has`. `value` is what the text was parsed to. */
export function findRepeatedKey(text: string, value: unknown): string | undefined {
  // Each key is followed by a colon, but strings can look like it. Most texts have no more of these than the value has keys.
  const marks = text.match(/"\s*:/g)?.length ?? 0
  return marks > countKeys(value) ? scanKeys(text) : undefined
}

function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inside = Object.values(value).reduce((sum: number, one) => sum + countKeys(one), 0)
  return Array.isArray(value) ? inside : inside + Object.keys(value).length
}

const tokens = /"(?:[^"\\]|\\.)*"(?<colon>\s*:)?|[{}[\],]/gs

function scanKeys(text: string): string | undefined {
  // Where the scan is: in an object at its last key, in an array at an index.
  const open: { keys?: Set<string>; at: string | number }[] = []
  for (const [token, colon] of text.matchAll(tokens)) {
    const inner = open.at(-1)
    if (token === '{') open.push({ keys: new Set(), at: '' })
    else if (token === '[') open.push({ at: 0 })
    else if (token === '}' || token === ']') open.pop()
    else if (token === ',' && typeof inner?.at === 'number') inner.at += 1
    else if (colon !== undefined && inner?.keys) {
      const key = JSON.parse(token.slice(0, -colon.length)) as string
      inner.at = key
      if (inner.keys.has(key)) return open.map(({ at }) => at).join('.')
      inner.keys.add(key)
    }
  }
  return undefined
}
