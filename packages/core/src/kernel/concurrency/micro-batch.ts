import { setImmediate as nextTurn } from 'node:timers/promises'
import { withTimeout } from './with-timeout.ts'
import { withoutContext } from './without-context.ts'

const maxBatchSize = 100
const maxWaitMs = 100

/**
 * Combines several calls into one: items that arrive in the same turn of the event loop, or during a call, share the
 * next call. If a call takes longer than 100 ms, the next one starts concurrently. `work` returns one result per item,
 * in the same order; an error rejects all items of the call. Items of different groups never share a call or wait for
 * each other. Without groups, `work` runs in the async context of no item, because it serves several workspaces: their
 * connections must not count for one of them, see `FairPool`.
 */
export function microBatch<Item, Result>(
  work: (items: Item[]) => Promise<Result[]>,
  groupOf?: (item: Item) => unknown,
): (item: Item) => Promise<Result> {
  interface Pending extends PromiseWithResolvers<Result> {
    item: Item
  }
  /** Waiting items by group. A group has an entry while one of its calls is running. */
  const pendingByGroup = new Map<unknown, Pending[]>()

  async function runCalls(group: unknown, pending: Pending[]) {
    // Requests that were read from the socket together arrive in the same turn.
    await nextTurn()
    while (pending.length > 0) {
      const batch = pending.splice(0, maxBatchSize)
      const call = work(batch.map(({ item }) => item)).then(
        (results) => batch.forEach(({ resolve }, index) => resolve(results[index] as Result)),
        (error: unknown) => batch.forEach(({ reject }) => reject(error)),
      )
      await withTimeout(call, maxWaitMs).catch(() => {})
      // Lets the callers continue first: their next items may join the next batch.
      await nextTurn()
    }
    pendingByGroup.delete(group)
  }

  return (item) => {
    const entry = { item, ...Promise.withResolvers<Result>() }
    const group = groupOf?.(item)
    const pending = pendingByGroup.get(group)
    if (pending) {
      pending.push(entry)
    } else {
      const first = [entry]
      pendingByGroup.set(group, first)
      void (groupOf ? runCalls(group, first) : withoutContext(runCalls, group, first))
    }
    return entry.promise
  }
}
