import { setTimeout as sleep } from 'node:timers/promises'
import type { Db } from '@rapport/core/db/client.ts'
import { isDatabaseUnavailable } from '@rapport/core/db/database-errors.ts'
import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'
import { findWaitingWorkspaces } from '@rapport/core/mail/budget/release-visitor-mails.ts'
import { findBacklogs } from '@rapport/core/webhooks/drain/find-backlogs.ts'
import type { JobQueues } from '@rapport/core/work/job-queues.ts'
import { queueOfJob } from '@rapport/core/work/kinds.ts'
import { findPublishableWork, markPublished } from '@rapport/core/work/publish.ts'
import { drainJobOf, releaseJobOf } from '@rapport/core/work/queues.ts'
import { isPollingWorker } from '@rapport/core/work/worker-registry.ts'
import type { Logger } from 'pino'
import type { WorkerTimings } from '../process/worker-timings.ts'

interface PollerOptions {
  db: Db
  queues: JobQueues
  /** The first poll waits for it. */
  firstConnection: Promise<void>
  workerId: string
  log: Logger
  timings: WorkerTimings
}

/**
 * Publishes the work that no publisher has published: of processes without a publisher, beyond the published jobs of a
 * workspace, and while the queues were away. It also publishes work again whose job was lost, for example when Redis was
 * flushed. Jobs that release the mails of visitors are added too. One worker polls each second; the others poll seldom, in case it shuts down or cannot reach the queues.
 */
export function startPoller(options: PollerOptions): { close(): Promise<void> } {
  const { db, queues, workerId, log, timings } = options
  const { pollMs, otherWorkersPollMs } = timings
  const closing = new AbortController()
  let isFailing = false
  let nextPollAt = 0
  let nextWithheldAt = 0
  let polledAt = performance.now()
  let backlogCursor: WorkspaceId | undefined

  async function isElected(): Promise<boolean> {
    if (performance.now() - polledAt >= otherWorkersPollMs) return true
    return isPollingWorker(db, workerId, timings.pollingWorkerTimeoutMs)
  }

  async function publishWork(): Promise<void> {
    const work = await findPublishableWork(db, timings.republishMs)
    for (const [queue, jobs] of Map.groupBy(work, queueOfJob)) {
      await queues.add(queue, jobs)
      await markPublished(db, jobs)
    }
  }

  /** Publishes one page of backlogs. After a full page, the next round continues with the next page. */
  async function publishBacklogs(): Promise<void> {
    const { workspaceIds, last } = await findBacklogs(db, backlogCursor)
    backlogCursor = last
    if (workspaceIds.length > 0) await queues.add('webhooks', workspaceIds.map(drainJobOf))
  }

  /** Mails that wait for a budget are looked at seldom: only time and used links widen it. */
  async function publishReleases(): Promise<void> {
    const isDue = performance.now() >= nextWithheldAt
    if (isDue) nextWithheldAt = performance.now() + timings.withheldMs
    const workspaceIds = await findWaitingWorkspaces(db, { onlyNew: !isDue })
    if (workspaceIds.length > 0) await queues.add('mail', workspaceIds.map(releaseJobOf))
  }

  async function runRound(): Promise<void> {
    const isPollDue = performance.now() >= nextPollAt
    if (isPollDue) nextPollAt = performance.now() + pollMs
    const isPolling = isPollDue && (await isElected())
    if (isPolling) {
      polledAt = performance.now()
      await publishWork()
    }
    if (isPolling || backlogCursor) await publishBacklogs()
    if (isPolling) await publishReleases()
  }

  async function run(): Promise<void> {
    await options.firstConnection
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
      const pauseMs = backlogCursor && !isFailing ? 0 : Math.max(0, nextPollAt - performance.now())
      await sleep(pauseMs, undefined, { signal: closing.signal }).catch(() => {})
    }
  }

  const running = run()
  return {
    async close() {
      closing.abort()
      await running
    },
  }
}
