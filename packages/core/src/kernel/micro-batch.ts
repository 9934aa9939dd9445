import { setImmediate as nextTurn } from 'node:timers/promises'
import { withTimeout } from './with-timeout.ts'

const maxBatchSize = 100
const maxWaitMs = 100

/**
 * Makes one call out of several: items that arrive in the same turn of the event loop, or during a call, share the next
 * one. When a call takes longer than 100 ms, the next starts beside it. `work` returns a result for each item, in their order; an error
 * rejects all of them. Items of different groups never share a call and do not wait for each other.
 */
export function microBatch<Item, Result>(
  work: (items: Item[]) => Promise<Result[]>,
  groupOf: (item: Item) => unknown = () => undefined,
): (item: Item) => Promise<Result> {
  interface Pending extends PromiseWithResolvers<Result> {
    item: Item
  }
  /** Items that wait, by group. A group has an entry during its calls. */
  const pendingByGroup = new Map<unknown, Pending[]>()

  async function runCalls(group: unknown, pending: Pending[]) {
    // Requests that were read together get here in one turn.
    await nextTurn()
    while (pending.length > 0) {
      const batch = pending.splice(0, maxBatchSize)
      const call = work(batch.map(({ item }) => item)).then(
        (results) => batch.forEach(({ resolve }, index) => resolve(results[index] as Result)),
        (error: unknown) => batch.forEach(({ reject }) => reject(error)),
      )
      await withTimeout(call, maxWaitMs).catch(() => {})
      // The callers continue first: what they do next may belong to the next batch.
      await nextTurn()
    }
    pendingByGroup.delete(group)
  }

  return (item) => {
    const entry = { item, ...Promise.withResolvers<Result>() }
    const group = groupOf(item)
    const pending = pendingByGroup.get(group)
    if (pending) {
      pending.push(entry)
    } else {
      const first = [entry]
      pendingByGroup.set(group, first)
      void runCalls(group, first)
    }
    return entry.promise
  }
}
