import type { Database } from '@rapport/core/db/client.ts'
import { listen } from '@rapport/core/db/listen.ts'
import { deleteOutboxRowsOfDeliveries, findPublishableWork, markPublished } from '@rapport/core/jobs/outbox.ts'
import { type WorkJob, workChannel } from '@rapport/core/jobs/queues.ts'
import { readWake } from '@rapport/core/jobs/wake-relays.ts'
import { isPollingWorker } from '@rapport/core/jobs/worker-registry.ts'
import { isDatabaseUnavailable } from '@rapport/core/kernel/errors.ts'
import { idOf, uuidOf } from '@rapport/core/kernel/ids.ts'
import { type BacklogKey, findBacklogs } from '@rapport/core/webhooks/drain/find-backlogs.ts'
import type { Logger } from 'pino'
import type { JobQueues } from './job-queues.ts'
import type { DrainCooldown } from './webhook-delivery/drain-cooldown.ts'

/** The pause between two rounds, so that the notifications of some milliseconds share one. */
const minPauseMs = 4
/** How often a worker that is not the first looks for backlogs: the first may shut down, or have lost the queues. */
const otherWorkersPollMs = 3_000

interface RelayOptions {
  database: Database
  /** Where notifications are received; without it work is found by polling alone. */
  listenUrl: string | undefined
  queues: JobQueues
  workerId: string
  drainCooldown: DrainCooldown
  log: Logger
  /** How often the relay looks for work that no notification announced. */
  pollMs?: number
}

/**
 * Publishes work: adds jobs to the queues. PostgreSQL has the work, and a job is a hint: adding one twice is harmless, and
 * one that is lost, with the data of Redis for example, is added again by the poll.
 *
 * A notification of new deliveries names their webhooks, so that it takes no query. One worker polls for backlogs that no
 * notification announced; every worker publishes the outbox.
 */
export function startRelay(options: RelayOptions): { close(): Promise<void> } {
  const { database, listenUrl, queues, workerId, drainCooldown, log, pollMs = 1_000 } = options
  const { db } = database
  const closing = new AbortController()
  const notifiedWebhooks = new Map<string, WorkJob>()
  let isOutboxNotified = false
  let isFailing = false
  let wake = () => {}
  let polledAt = Number.NEGATIVE_INFINITY
  let backlogsPolledAt = performance.now()
  let backlogCursor: BacklogKey | undefined

  function onNotify(payload: string): void {
    const subject = readWake(payload)
    if (subject === 'outbox') isOutboxNotified = true
    else if (!drainCooldown.isActive(subject.webhookId)) {
      const workspaceId = idOf('wsp', subject.workspaceId)
      notifiedWebhooks.set(subject.webhookId, { workspaceId, id: subject.webhookId })
    }
    wake()
  }

  async function publishNotified(): Promise<void> {
    const jobs = [...notifiedWebhooks.values()]
    notifiedWebhooks.clear()
    if (jobs.length > 0) await queues.add('webhooks', jobs)
  }

  async function publishOutbox(): Promise<void> {
    isOutboxNotified = false
    const work = await findPublishableWork(db)
    for (const [queue, group] of Map.groupBy(work, (item) => item.queue)) {
      const jobs = group.map(({ job }) => job)
      await queues.add(queue, jobs)
      await markPublished(
        db,
        jobs.map(({ id }) => id),
      )
    }
  }

  /** Continues after a full page in the next round. */
  async function publishBacklogs(): Promise<void> {
    const isDue = performance.now() - backlogsPolledAt >= otherWorkersPollMs
    if (!isDue && !backlogCursor && !(await isPollingWorker(db, workerId))) return
    backlogsPolledAt = performance.now()
    const { backlogs, last } = await findBacklogs(db, backlogCursor)
    backlogCursor = last
    const jobs = backlogs.map(({ workspaceId, webhookId }) => ({ workspaceId, id: uuidOf(webhookId) }))
    if (jobs.length > 0) await queues.add('webhooks', jobs)
  }

  async function runRound(): Promise<void> {
    await publishNotified()
    const isPolling = performance.now() - polledAt >= pollMs
    if (isPolling) await deleteOutboxRowsOfDeliveries(db)
    if (isPolling || isOutboxNotified) await publishOutbox()
    if (isPolling || backlogCursor) await publishBacklogs()
    if (isPolling) polledAt = performance.now()
  }

  async function run(): Promise<void> {
    await queues.firstConnection
    while (!closing.signal.aborted) {
      try {
        await runRound()
        if (isFailing) log.info('work is published again')
        isFailing = false
      } catch (error) {
        const unavailable = isDatabaseUnavailable(error) ? 'PostgreSQL is' : 'the queues are'
        if (!isFailing) log.warn({ err: error }, `work is not published: ${unavailable} unavailable`)
        isFailing = true
      }
      await waitForNextRound()
    }
  }

  /** While publishing fails, a notification changes nothing: the next round is the next poll. */
  async function waitForNextRound(): Promise<void> {
    const pausedAt = performance.now()
    await new Promise<void>((resolve) => {
      let timer = setTimeout(resolve, backlogCursor && !isFailing ? 0 : pollMs)
      wake = () => {
        if (isFailing && !closing.signal.aborted) return
        clearTimeout(timer)
        timer = setTimeout(resolve, Math.max(0, pausedAt + minPauseMs - performance.now()))
      }
      if (isOutboxNotified || notifiedWebhooks.size > 0 || closing.signal.aborted) wake()
    })
  }

  const onError = (error: Error) => log.debug({ err: error }, 'the connection that listens for work broke')
  const listener = listenUrl === undefined ? undefined : listen(listenUrl, [workChannel], { onNotify, onError })
  const running = run()

  return {
    async close() {
      closing.abort()
      wake()
      await running
      await listener?.close()
    },
  }
}
