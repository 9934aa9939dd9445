import { type Choices, choicesOfList } from './choices.ts'
import type { Run } from './simulate.ts'

/**
 * Finds a shorter list of choices with which a run still breaks the same promise. Sets groups of choices to 0, which is
 * the simplest choice, first large groups and then single ones.
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
      if (breaksTheSame(failed, next) && next.trace.length <= best.trace.length) best = next
    }
  }
  return best
}

/** Whether the other run breaks a promise of the first one, about any mail. */
export function breaksTheSame(failed: Run, other: Run): boolean {
  const kinds = new Set(failed.broken.map(toKind))
  return other.broken.some((promise) => kinds.has(toKind(promise)))
}

/** The names of subjects and the counts differ between schedules. */
const toKind = (promise: string) => promise.replaceAll(/\S+@\S+/g, 'a person').replaceAll(/\d+/g, 'n')
