import { isDatabaseUnavailable } from '@rapport/core/kernel/errors.ts'
import type { Database } from '@rapport/core/db/client.ts'
import {
  forgetOtherEpochs,
  type RelayedWork,
  recheckOldWork,
  relayLanes,
  relayWork,
  roomSaid,
} from '@rapport/core/jobs/outbox.ts'
import { outboxChannel, type QueueName } from '@rapport/core/jobs/queues.ts'
import { withTimeout } from '@rapport/core/kernel/with-timeout.ts'
import type { JobsOptions } from 'bullmq'
import type { Logger } from 'pino'
import type { QueueBackend, WorkQueue } from './queue-backend.ts'
import { listen } from '@rapport/core/db/listen.ts'

/** The pause after a look that found nothing, twice as long after each: new work of a lane that is full wakes it too. */
const [shortestRestMs, longestRestMs] = [5, 40]
const recheckMs = 60_000
const handOverTimeoutMs = 8_000
const closeTimeoutMs = 1_000

interface RelayOptions {
  database: Database
  /** Where notifications are heard; without it work is found by polling alone. */
  listenUrl: string | undefined
  backend: QueueBackend
  jobOptions: Record<QueueName, JobsOptions>
  log: Logger
  /** Hears how much was handed over. */
  onHandOver: (queue: QueueName, count: number) => void
  /** Lanes that may have more handed over than others. */
  quickLanes: () => readonly string[]
  /** How often the relay looks for work that no notification announced. */
  pollMs?: number
  /** Called at each new life of the queues' store, when all that lived only there is gone. */
  onNewEpoch: (queueOf: (name: QueueName) => WorkQueue) => Promise<void>
}

/**
 * Moves work from the outbox to the queues: at once when a transaction that enqueued something commits (NOTIFY), every
 * second in any case, and all over again when the queues' store has lost its data.
 */
export function startRelay(options: RelayOptions) {
  const { database, listenUrl, backend, jobOptions, log, onHandOver, quickLanes, onNewEpoch } = options
  const { pollMs = 1_000 } = options

  const queues = new Map<QueueName, WorkQueue>()
  let lastEpoch: string | undefined
  let lastForgotAt = 0
  let lastRecheck = Date.now()
  let isFailing = false
  let wake = (_atOnce: boolean) => {}
  let notified: 'not' | 'soon' | 'at once' = 'not'
  let restMs = 0
  const closing = new AbortController()

  // Opened when first needed: a queue that is opened while Redis is away would wait for it.
  function queueOf(name: QueueName): WorkQueue {
    const queue = queues.get(name) ?? backend.openQueue(name)
    queues.set(name, queue)
    return queue
  }

  /** One that was opened at the moment when Redis went away keeps that failure for ever. */
  function reopenQueue(name: QueueName): void {
    const queue = queues.get(name)
    queues.delete(name)
    queue?.close().catch(() => {})
  }

  async function handOver(work: RelayedWork[]) {
    for (const [queue, jobs] of Map.groupBy(work, (item) => item.queue)) {
      const bulk = jobs.map(({ jobId, data }) => ({ name: queue, data, opts: { ...jobOptions[queue], jobId } }))
      // A store that hangs must not keep the relay's transaction open: the work stays in the outbox.
      await withTimeout(queueOf(queue).addBulk(bulk), handOverTimeoutMs).catch((error: unknown) => {
        reopenQueue(queue)
        throw error
      })
      onHandOver(queue, bulk.length)
      restMs = 0
    }
  }

  async function round() {
    const epoch = await backend.readEpoch()
    if (epoch !== lastEpoch) await onNewEpoch(queueOf)
    // Another relay may learn of a new epoch later, and hand over in the old one until then.
    if (epoch !== lastEpoch || performance.now() - lastForgotAt >= pollMs) {
      await forgetOtherEpochs(database.db, epoch)
      lastForgotAt = performance.now()
    }
    lastEpoch = epoch
    await Promise.all([
      drain(() => relayWork(database.db, epoch, handOver)),
      drain(() => relayLanes(database.db, { epoch, quickLanes: quickLanes() }, handOver)),
    ])
    if (Date.now() - lastRecheck < recheckMs) return
    lastRecheck = Date.now()
    await recheckOldWork(database.db, async ({ queue, jobId }) => {
      const state = await queueOf(queue).getJobState(jobId)
      return state !== 'unknown' && state !== 'failed' && state !== 'completed'
    })
  }

  async function drain(relaySome: () => Promise<boolean>) {
    while (!closing.signal.aborted && (await relaySome()));
  }

  async function run() {
    while (!closing.signal.aborted) {
      notified = 'not'
      restMs = Math.min(Math.max(2 * restMs, shortestRestMs), longestRestMs)
      try {
        await round()
        if (isFailing) log.info('work is handed over again')
        isFailing = false
      } catch (error) {
        const whatIsAway = isDatabaseUnavailable(error) ? 'PostgreSQL is' : 'the queues are'
        if (!isFailing) log.warn({ err: error }, `work waits in the outbox: ${whatIsAway} away`)
        isFailing = true
      }
      if (closing.signal.aborted) break
      // While the queues are away a notification changes nothing: the next round waits for its time.
      await new Promise<void>((resolve) => {
        const restsUntil = performance.now() + restMs
        let timer = setTimeout(resolve, pollMs)
        wake = (atOnce) => {
          if (isFailing && !closing.signal.aborted) return
          clearTimeout(timer)
          timer = setTimeout(resolve, atOnce ? 0 : Math.max(0, restsUntil - performance.now()))
        }
        if (notified !== 'not') wake(notified === 'at once')
      })
    }
  }

  const onNotify = (said: string) => {
    const atOnce = said === roomSaid
    if (notified !== 'at once') notified = atOnce ? 'at once' : 'soon'
    wake(atOnce)
  }
  const onError = (error: Error) => log.debug({ err: error }, 'the connection that listens for work broke')
  const listener = listenUrl === undefined ? undefined : listen(listenUrl, [outboxChannel], { onNotify, onError })
  const running = run()

  return {
    queueOf,
    async close() {
      closing.abort()
      wake(true)
      await running
      await listener?.close()
      // While the queues are away, `close` does not return.
      const closed = Promise.allSettled([...queues.values()].map((queue) => queue.close()))
      await withTimeout(closed, closeTimeoutMs).catch(() => {})
    },
  }
}
