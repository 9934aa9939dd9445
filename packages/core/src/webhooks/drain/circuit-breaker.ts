/** The number of consecutive rounds without a response after which the circuit opens. */
const threshold = 3
export const firstPauseMs = 1_000
const maxPauseMs = 60_000

/** Returns the number of consecutive rounds without a response. A round is a set of concurrent attempts. */
export function countUnreachable(count: number, round: readonly { responseStatus: number | null }[]): number {
  if (round.length === 0) return count
  return round.some(({ responseStatus }) => responseStatus !== null) ? 0 : count + 1
}

/** Returns how long to pause the webhook: 0 below the threshold, then 1 s, doubling to at most 60 s. */
export function getPauseMs(unreachableCount: number, firstMs = firstPauseMs): number {
  if (unreachableCount < threshold) return 0
  return Math.min(firstMs * 2 ** (unreachableCount - threshold), maxPauseMs)
}
