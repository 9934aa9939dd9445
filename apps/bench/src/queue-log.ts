/** Commits that lead to one POST each, and what of it was received. */
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from './measurements.ts'
import type { PeerQueue } from './peer-queues.ts'
import { waitUntil } from './processes.ts'
import type { Receipt } from './receiver.ts'

const perSecond = 50

export interface QueueSide extends PeerQueue {
  /** The id of the commit to which a receipt belongs. */
  identify: (receipts: Receipt[]) => Promise<{ id: string; at: bigint }[]>
}

export interface Latencies {
  p50: number
  p99: number
}

/** What was committed and received. */
export function openQueueLog(side: QueueSide, receiver: { takeReceipts: () => Promise<Receipt[]> }) {
  const commits = new Map<string, bigint>()
  const receipts: { id: string; at: bigint }[] = []
  const byId = () => Map.groupBy(receipts, ({ id }) => id)
  async function take() {
    const taken = await receiver.takeReceipts()
    if (taken.length > 0) receipts.push(...(await side.identify(taken)))
  }
  async function waitFor(of: ReadonlyMap<string, bigint>, timeoutMs: number): Promise<void> {
    const isReceived = async () => {
      await take()
      const ids = byId()
      return [...of.keys()].every((id) => ids.has(id))
    }
    await waitUntil(isReceived, { everyMs: 100, timeoutMs })
  }
  const add = (committed: readonly ([string, bigint] | undefined)[]) => {
    const known = committed.flatMap((one) => (one ? [one] : []))
    for (const [id, at] of known) commits.set(id, at)
    return new Map(known)
  }
  return {
    take,
    clear() {
      commits.clear()
      receipts.length = 0
    },
    commitDuring: async (ms: number) => add(await commitSteadily(side, ms)),
    async commitAtOnce(count: number) {
      const connections = Array.from({ length: 20 }, async () => {
        for (let done = 0; done < count / 20; done += 1) add([await side.commit()])
      })
      await Promise.all(connections)
    },
    /** Throws after the timeout. */
    waitForAll: (timeoutMs: number) => waitFor(commits, timeoutMs),
    /** Whether all of the commits are received before the timeout. */
    areReceived: (of: ReadonlyMap<string, bigint>, timeoutMs: number): Promise<boolean> =>
      waitFor(of, timeoutMs).then(
        () => true,
        () => false,
      ),
    receiptsPerSecond() {
      const moments = receipts.map(({ at }) => Number(at)).toSorted((one, other) => one - other)
      return (moments.length / ((moments.at(-1) ?? 0) - (moments[0] ?? 0))) * 1e9
    },
    /** From commit to first receipt. */
    computeLatencies(of: ReadonlyMap<string, bigint>): Latencies {
      const ids = byId()
      const latencies = [...of].flatMap(([id, at]) => (ids.get(id) ?? []).slice(0, 1).map((one) => Number(one.at - at)))
      return { p50: quantile(latencies, 0.5) / 1e6, p99: quantile(latencies, 0.99) / 1e6 }
    },
    count() {
      const ids = byId()
      const counts = [...commits.keys()].map((id) => ids.get(id)?.length ?? 0)
      const [lost, repeated] = [counts.filter((one) => one === 0).length, counts.filter((one) => one > 1).length]
      return { committed: counts.length, lost, repeated }
    },
  }
}

/** Commits at a fixed rate, whether or not the earlier ones have ended. */
async function commitSteadily(side: QueueSide, ms: number): Promise<([string, bigint] | undefined)[]> {
  const commits: Promise<[string, bigint] | undefined>[] = []
  const startedAt = performance.now()
  while (performance.now() - startedAt < ms) {
    const due = ((performance.now() - startedAt) / 1_000) * perSecond
    while (commits.length < due) commits.push(side.commit())
    await sleep(5)
  }
  return Promise.all(commits)
}
