/** How often a client has asked since its window opened, and when that ends, in milliseconds of the clock. */
interface Window {
  current: number
  endsAt: number
}

export const windowsKept = 50_000

/**
 * Remembers the windows of the clients that came last: so many at least, twice as many at most. The older half is
 * forgotten as a whole: an LRU cache, which keeps all in order and forgets one by one, would be the most that a request
 * costs this process while Redis is away.
 */
export function createClientWindows(): (key: string) => Window {
  let recent = new Map<string, Window>()
  let older = recent
  return (key) => {
    const known = recent.get(key)
    if (known) return known
    const window = older.get(key) ?? { current: 0, endsAt: 0 }
    if (recent.size >= windowsKept) {
      older = recent
      recent = new Map()
    }
    recent.set(key, window)
    return window
  }
}
