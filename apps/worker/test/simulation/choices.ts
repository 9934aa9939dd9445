/** The decisions of a run: from a seed, or those of an earlier run, which can be shortened. */
import { createRandom } from '@rapport/testing/runs.ts'

export interface Choices {
  /** A number from 0 to 1. By convention, 0 is the simplest choice: the oldest statement, and no fault. */
  next(): number
  /** The numbers so far. */
  readonly taken: readonly number[]
}

export function choicesOfSeed(seed: number): Choices {
  const random = createRandom(seed)
  // The first numbers of neighboring seeds are similar.
  for (let n = 0; n < 5; n++) random()
  const taken: number[] = []
  const next = () => {
    const value = random()
    taken.push(value)
    return value
  }
  return { next, taken }
}

/** After the last number, every choice is the simplest one. */
export function choicesOfList(list: readonly number[]): Choices {
  const taken: number[] = []
  const next = () => {
    const value = list[taken.length] ?? 0
    taken.push(value)
    return value
  }
  return { next, taken }
}

/** The choices that are not taken yet. */
export function takeRest(choices: Choices): Choices {
  const start = choices.taken.length
  return {
    next: () => choices.next(),
    get taken() {
      return choices.taken.slice(start)
    },
  }
}

export const pick = <Item>(choices: Choices, items: readonly Item[]): Item =>
  items[Math.floor(choices.next() * items.length)] as Item
