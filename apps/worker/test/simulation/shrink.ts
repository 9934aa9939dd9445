import { type Choices, choicesOfList } from './choices.ts'
import type { Run } from './simulate.ts'

/**
 * Finds a shorter list of choices with which a run still breaks a promise. Sets groups of choices to 0, which is the
 * simplest choice, first large groups and then single ones, and cuts off the zeros at the end.
 */
export async function shrink(run: (choices: Choices) => Promise<Run>, failed: Run, maxRuns = 200): Promise<Run> {
  let best = failed
  let runs = 0
  const isZero = (list: readonly number[]) => list.every((value) => value === 0)
  for (let size = Math.ceil(failed.choices.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let start = 0; start < best.choices.length && runs < maxRuns; start += size) {
      if (isZero(best.choices.slice(start, start + size))) continue
      const list = best.choices.map((value, index) => (index >= start && index < start + size ? 0 : value))
      runs += 1
      const next = await run(choicesOfList(list))
      if (next.broken.length > 0 && next.trace.length <= best.trace.length) best = next
    }
  }
  return best
}
