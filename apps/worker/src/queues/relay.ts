import type { Database } from '@rapport/core/db/client.ts'
import { listen } from '@rapport/core/db/listen.ts'
import { nameFormerWork } from '@rapport/core/operations/recovery/name-former-work.ts'
import { findPublishableWork, markPublished } from '@rapport/core/work/publish.ts'
import { drainJobOf, workChannel } from '@rapport/core/work/queues.ts'
import { parseNotification } from '@rapport/core/work/wake-relays.ts'
import { isPollingWorker } from '@rapport/core/work/worker-registry.ts'
import { isDatabaseUnavailable } from '@rapport/core/db/database-errors.ts'
import { idOf, type WorkspaceId } from '@rapport/core/kernel/ids.ts'
import { findBacklogs } from '@rapport/core/webhooks/drain/find-backlogs.ts'
import type { Logger } from 'pino'
import type { JobQueues } from './job-queues.ts'
import type { WorkerTimings } from '../process/worker-timings.ts'

/** Minimum pause between two rounds, so that notifications within a few milliseconds share one round. */
const minPauseMs = 4

interface RelayOptions {
  database: Database
  /** The database URL for LISTEN. If undefined, the relay only polls. */
  listenUrl: string | undefined
  queues: JobQueues
  workerId: string
  log: Logger
  timings: WorkerTimings
}

/**
 * Publishes work: adds jobs to the queues. PostgreSQL stores the work; a job is only a hint. Adding a job twice is
 * harmless, and the poll adds a job again if it was lost, for example when Redis was flushed.
 *
 * A notification of new deliveries contains the workspace's id, so that the relay adds the job without a query. One
 * worker polls for backlogs without a notification; every worker publishes other work.
 */
export function startRelay(options: RelayOptions): { close(): Promise<void> } {
  const { database, listenUrl, queues, workerId, log, timings } = options
  const { db } = database
  const { pollMs } = timings
  const closing = new AbortController()
  const notifiedWorkspaces = new Set<WorkspaceId>()
  let isWorkNotified = false
  let isFailing = false
  let wake = () => {}
  let polledAt = Number.NEGATIVE_INFINITY
  let backlogsPolledAt = performance.now()
  let backlogCursor: WorkspaceId | undefined

  function onNotify(payload: string): void {
    const subject = parseNotification(payload)
    if (subject === 'work') isWorkNotified = true
    else notifiedWorkspaces.add(idOf('wsp', subject.workspaceId))
    wake()
  }

  async function publishNotified(): Promise<void> {
    const jobs = [...notifiedWorkspaces].map(drainJobOf)
    notifiedWorkspaces.clear()
    if (jobs.length > 0) await queues.add('webhooks', jobs)
  }

  async function publishWork(): Promise<void> {
    isWorkNotified = false
    await nameFormerWork(db)
    const work = await findPublishableWork(db, timings.republishMs)
    for (const [queue, group] of Map.groupBy(work, (item) => item.queue)) {
      const jobs = group.map(({ job }) => job)
      await queues.add(queue, jobs)
      await markPublished(db, jobs)
    }
  }

  /** Publishes one page of backlogs. After a full page, the next round continues with the next page. */
  async function publishBacklogs(): Promise<void> {
    const isDue = performance.now() - backlogsPolledAt >= timings.otherWorkersPollMs
    if (!isDue && !backlogCursor && !(await isPollingWorker(db, workerId, timings.pollingWorkerTimeoutMs))) return
    backlogsPolledAt = performance.now()
    const { workspaceIds, last } = await findBacklogs(db, backlogCursor)
    backlogCursor = last
    if (workspaceIds.length > 0) await queues.add('webhooks', workspaceIds.map(drainJobOf))
  }

  async function runRound(): Promise<void> {
    await publishNotified()
    const isPollDue = performance.now() - polledAt >= pollMs
    if (isPollDue || isWorkNotified) await publishWork()
    if (isPollDue || backlogCursor) await publishBacklogs()
    if (isPollDue) polledAt = performance.now()
  }

  async function run(): Promise<void> {
    await queues.firstConnection
    while (!closing.signal.aborted) {
      try {
        await runRound()
        if (isFailing) log.info('publishing resumed')
        isFailing = false
      } catch (error) {
        const cause = isDatabaseUnavailable(error) ? 'PostgreSQL' : 'queues'
        if (!isFailing) log.warn({ err: error }, `publishing failed: ${cause} unavailable; retrying`)
        isFailing = true
      }
      await waitForNextRound()
    }
  }

  /** While publishing fails, notifications do not start a round; only the poll does. */
  async function waitForNextRound(): Promise<void> {
    const pausedAt = performance.now()
    await new Promise<void>((resolve) => {
      let timer = setTimeout(resolve, backlogCursor && !isFailing ? 0 : pollMs)
      wake = () => {
        if (isFailing && !closing.signal.aborted) return
        clearTimeout(timer)
        timer = setTimeout(resolve, Math.max(0, pausedAt + minPauseMs - performance.now()))
      }
      if (isWorkNotified || notifiedWorkspaces.size > 0 || closing.signal.aborted) wake()
    })
  }

  const onError = (error: Error) => log.debug({ err: error }, 'LISTEN connection lost; reconnecting')
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
