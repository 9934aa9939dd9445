/** When a receiver that does not respond is left alone. */

/** Rounds in a row without a response before the breaker opens. */
const threshold = 3
const [firstPauseMs, maxPauseMs] = [1_000, 60_000]

/** The count of rounds in a row that got no response, after a round of attempts side by side. */
export function countUnreachable(count: number, round: readonly { responseStatus: number | null }[]): number {
  if (round.length === 0) return count
  return round.some(({ responseStatus }) => responseStatus !== null) ? 0 : count + 1
}

/** How long the webhook is paused after so many rounds without a response: 1 s, doubling to 60 s. 0: not at all. */
export function getPauseMs(unreachableCount: number): number {
  if (unreachableCount < threshold) return 0
  return Math.min(firstPauseMs * 2 ** (unreachableCount - threshold), maxPauseMs)
}

/** How many more attempts may start beside `out` others: one at a time for a receiver that did not respond to the last. */
export function limitAttempts(
  limit: number,
  { unreachableCount, inFlightCount }: { unreachableCount: number; inFlightCount: number },
): number {
  return unreachableCount === 0 ? limit : Math.max(0, Math.min(limit, 1 - inFlightCount))
}
