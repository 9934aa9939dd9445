import { isDeepStrictEqual } from 'node:util'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { type QueueName, WorkJob } from '@rapport/core/jobs/queues.ts'
import { clearCustomField } from './jobs/clear-custom-field.ts'
import { clearDeletedListJob } from './jobs/clear-deleted-list.ts'
import { clearDeletedWorkspaceJob } from './jobs/clear-deleted-workspace.ts'
import { describeResult, type DrainProgress, drainWebhook } from './jobs/drain-webhook.ts'
import { maintainHourly } from './jobs/hourly-maintenance.ts'
import { runImport } from './jobs/run-import.ts'
import { sendCampaignBatch } from './jobs/send-campaign-batch.ts'
import { sendMail } from './jobs/send-mail.ts'
import { traced, type WorkerDeps } from './worker-deps.ts'

interface Job {
  /** What it resolves to is shown in the dashboard. */
  handle: (data: WorkJob, onProgress: (progress: DrainProgress) => void) => Promise<unknown>
  concurrency: number
}

/** Whether a job is one that the relay or the schedule adds: a person at the dashboard can add any. */
export function isOurs(queue: QueueName, data: unknown): data is WorkJob {
  return WorkJob.safeParse(data).success || (queue === 'maintenance' && isDeepStrictEqual(data ?? {}, {}))
}

/** The handler of each queue, and how many of its jobs run at once. A queue without a handler does not compile. */
export function createJobs(deps: WorkerDeps, config: WorkerConfig): Record<QueueName, Job> {
  const tracing = (queue: QueueName, handle: (deps: WorkerDeps, job: WorkJob) => Promise<void>) => (job: WorkJob) =>
    traced(deps, { queue, job }, (job) => handle(deps, job))
  return {
    // Traces each of its deliveries by itself. Half of the jobs wait for a place, so that workspaces get places in turns.
    webhooks: {
      handle: (job, onProgress) => drainWebhook(deps, job, onProgress).then(describeResult),
      concurrency: 2 * config.WORKER_CONCURRENCY,
    },
    campaigns: { handle: tracing('campaigns', sendCampaignBatch), concurrency: 4 },
    mail: { handle: tracing('mail', sendMail), concurrency: 5 },
    imports: { handle: tracing('imports', runImport), concurrency: 2 },
    maintenance: { handle: tracing('maintenance', maintain), concurrency: 1 },
  }
}

/** The job of the schedule names nothing; the others name a record that was removed, of any kind. */
async function maintain(deps: WorkerDeps, job: WorkJob): Promise<void> {
  const { workspaceId, id }: Partial<WorkJob> = job
  if (!workspaceId || !id) return maintainHourly(deps)
  for (const clear of [clearDeletedListJob, clearCustomField, clearDeletedWorkspaceJob]) await clear(deps, job)
}
