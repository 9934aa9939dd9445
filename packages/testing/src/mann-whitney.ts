/** The Mann-Whitney U test: whether the values of one series tend to be larger than those of another. */

/**
 * Returns the standard score of the rank sum. For two series with the same distribution it is 0 on average, and its
 * absolute value exceeds 4.9 once in a million times (two-sided, p < 1e-6). Equal values share their rank.
 */
export function mannWhitneyScore(one: readonly number[], other: readonly number[]): number {
  const all = [...one.map((value) => ({ value, isOne: true })), ...other.map((value) => ({ value, isOne: false }))]
  const sorted = all.toSorted((a, b) => a.value - b.value)
  let [rankSum, ties] = [0, 0]
  for (let start = 0; start < sorted.length; ) {
    let end = start
    while (end < sorted.length && sorted[end]?.value === sorted[start]?.value) end += 1
    const equal = sorted.slice(start, end)
    rankSum += equal.filter(({ isOne }) => isOne).length * ((start + 1 + end) / 2)
    ties += equal.length ** 3 - equal.length
    start = end
  }
  const [n, m, total] = [one.length, other.length, all.length]
  const variance = ((n * m) / 12) * (total + 1 - ties / (total * (total - 1)))
  return variance === 0 ? 0 : (rankSum - (n * (total + 1)) / 2) / Math.sqrt(variance)
}
