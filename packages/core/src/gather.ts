import { setImmediate as nextTurn } from 'node:timers/promises'

const mostAtOnce = 100

/**
 * Makes one call of many: what comes while a call is under way goes together in the next. Where there is one at a time,
 * nobody waits. `work` answers for each item in its place; when it throws, that is the answer for all.
 */
export function gather<Item, Answer>(work: (items: Item[]) => Promise<Answer[]>): (item: Item) => Promise<Answer> {
  interface Asked extends PromiseWithResolvers<Answer> {
    item: Item
  }
  let waiting: Asked[] = []
  let isWorking = false

  async function workOn() {
    isWorking = true
    while (waiting.length > 0) {
      const asked = waiting.slice(0, mostAtOnce)
      waiting = waiting.slice(mostAtOnce)
      try {
        const answers = await work(asked.map(({ item }) => item))
        for (const [at, { resolve }] of asked.entries()) resolve(answers[at] as Answer)
      } catch (error) {
        for (const { reject } of asked) reject(error)
      }
      // Whoever was answered comes first: what they do next may matter to the next call, or be part of it.
      await nextTurn()
    }
    isWorking = false
  }

  return (item) => {
    const asked = { item, ...Promise.withResolvers<Answer>() }
    waiting.push(asked)
    if (!isWorking) void workOn()
    return asked.promise
  }
}
