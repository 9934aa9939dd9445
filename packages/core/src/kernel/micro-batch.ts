import { setImmediate as nextTurn } from 'node:timers/promises'

const mostAtOnce = 100
const patienceMs = 100

/**
 * Makes one call of many: what comes while a call is under way goes together in the next. Where there is one at a time,
 * nobody waits, and for a call that takes long nobody waits to its end. `work` answers for each item in its place; when
 * it throws, that is the answer for all. What `groupOf` tells apart never goes together, nor waits for each other.
 */
export function microBatch<Item, Answer>(
  work: (items: Item[]) => Promise<Answer[]>,
  groupOf: (item: Item) => unknown = () => undefined,
): (item: Item) => Promise<Answer> {
  interface Asked extends PromiseWithResolvers<Answer> {
    item: Item
  }
  /** Who waits, by group: there is an entry as long as a call is under way. */
  const waitingBy = new Map<unknown, Asked[]>()

  async function workOn(group: unknown, waiting: Asked[]) {
    while (waiting.length > 0) {
      const asked = waiting.splice(0, mostAtOnce)
      const call = work(asked.map(({ item }) => item)).then(
        (answers) => asked.forEach(({ resolve }, at) => resolve(answers[at] as Answer)),
        (error: unknown) => asked.forEach(({ reject }) => reject(error)),
      )
      await endOf(call)
      // Whoever was answered comes first: what they do next may matter to the next call, or be part of it.
      await nextTurn()
    }
    waitingBy.delete(group)
  }

  return (item) => {
    const asked = { item, ...Promise.withResolvers<Answer>() }
    const group = groupOf(item)
    const waiting = waitingBy.get(group)
    if (waiting) {
      waiting.push(asked)
    } else {
      const first = [asked]
      waitingBy.set(group, first)
      void workOn(group, first)
    }
    return asked.promise
  }
}

/** Or of the patience. */
function endOf(call: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, patienceMs).unref()
    void call.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}
