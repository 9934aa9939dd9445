import type { Bounce } from './classify-bounce.ts'

/** The bounces that remain, one for each email, if they are recorded one after the other: the last, or the first HARD one. */
export function lastBounces<One extends { bounce: Bounce }>(
  bounces: readonly One[],
  keyOf: (one: One) => string,
): One[] {
  const last = new Map<string, One>()
  for (const one of bounces) {
    const key = keyOf(one)
    if (last.get(key)?.bounce.class !== 'HARD') last.set(key, one)
  }
  return [...last.values()]
}
