import { isDeepStrictEqual } from 'node:util'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { type QueueName, WorkJob } from '@rapport/core/jobs/queues.ts'
import { clearCustomField } from './jobs/clear-custom-field.ts'
import { clearDeletedListJob } from './jobs/clear-deleted-list.ts'
import { clearDeletedWorkspaceJob } from './jobs/clear-deleted-workspace.ts'
import { describeResult, type DrainProgress, drainWebhook } from './jobs/drain-webhook.ts'
import { eraseContactJob } from './jobs/erase-contact.ts'
import { runHourlyMaintenance } from './jobs/hourly-maintenance.ts'
import { runImport } from './jobs/run-import.ts'
import { sendCampaignBatch } from './jobs/send-campaign-batch.ts'
import { sendMail } from './jobs/send-mail.ts'
import { runTraced, type WorkerDeps } from './worker-deps.ts'

interface JobHandler {
  /** The dashboard shows the resolved value. */
  handle: (data: WorkJob, onProgress: (progress: DrainProgress) => void) => Promise<unknown>
  concurrency: number
}

/** Whether the relay or the schedule could have added the job. Users of the dashboard can add jobs with any data. */
export function isKnownJob(queue: QueueName, data: unknown): data is WorkJob {
  return WorkJob.safeParse(data).success || (queue === 'maintenance' && isDeepStrictEqual(data ?? {}, {}))
}

/** The handler and the concurrency limit of each queue. */
export function createJobHandlers(deps: WorkerDeps, config: WorkerConfig): Record<QueueName, JobHandler> {
  const withTracing = (queue: QueueName, handle: (deps: WorkerDeps, job: WorkJob) => Promise<void>) => (job: WorkJob) =>
    runTraced(deps, { queue, job }, (job) => handle(deps, job))
  return {
    // Each delivery has its own span, so the job has none. Up to half of the jobs wait for a slot, for fair sharing.
    webhooks: {
      handle: (job, onProgress) => drainWebhook(deps, job, onProgress).then(describeResult),
      concurrency: 2 * config.WORKER_CONCURRENCY,
    },
    campaigns: { handle: withTracing('campaigns', sendCampaignBatch), concurrency: 4 },
    mail: { handle: withTracing('mail', sendMail), concurrency: 5 },
    imports: { handle: withTracing('imports', runImport), concurrency: 2 },
    maintenance: { handle: withTracing('maintenance', runMaintenance), concurrency: 1 },
  }
}

/**
 * The scheduled job has no data. Every other maintenance job names a deleted list, custom field, contact or workspace,
 * without its kind: each of the four functions ignores the ids of other kinds.
 */
async function runMaintenance(deps: WorkerDeps, job: WorkJob): Promise<void> {
  const { workspaceId, id }: Partial<WorkJob> = job
  if (!workspaceId || !id) return runHourlyMaintenance(deps)
  for (const clear of [clearDeletedListJob, clearCustomField, eraseContactJob, clearDeletedWorkspaceJob])
    await clear(deps, job)
}
