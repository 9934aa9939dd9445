import { isDeepStrictEqual } from 'node:util'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { type QueueName, WorkJob } from '@rapport/core/jobs/queues.ts'
import type { JobsOptions } from 'bullmq'
import { clearCustomField } from './jobs/clear-custom-field.ts'
import { clearDeletedListJob } from './jobs/clear-deleted-list.ts'
import { clearDeletedWorkspaceJob } from './jobs/clear-deleted-workspace.ts'
import { deliverWebhook } from './jobs/deliver-webhook.ts'
import { purgeExpired } from './jobs/purge-expired.ts'
import { runImport } from './jobs/run-import.ts'
import { sendCampaignBatch } from './jobs/send-campaign-batch.ts'
import { sendMail } from './jobs/send-mail.ts'
import { traced, type WorkerDeps } from './worker-deps.ts'

interface Job {
  handle: (data: WorkJob) => Promise<void>
  concurrency: number
}

/** Whether a job is one that is put there by the relay or by the clock: a person at the dashboard can add any. */
export function isOurs(queue: QueueName, data: unknown): data is WorkJob {
  return WorkJob.safeParse(data).success || (queue === 'maintenance' && isDeepStrictEqual(data ?? {}, {}))
}

/** What is done with the jobs of each queue, and how many at once. A queue without a handler does not compile. */
export function createJobs(deps: WorkerDeps, config: WorkerConfig): Record<QueueName, Job> {
  const tracing = (queue: QueueName, handle: (deps: WorkerDeps, job: WorkJob) => Promise<void>) => (job: WorkJob) =>
    traced(deps, { queue, job }, (job) => handle(deps, job))
  return {
    // Traces each of its deliveries by itself. Many, as they only wait: a workspace has 20 out at most, so that a few with
    // dead receivers keep nobody waiting.
    webhooks: { handle: (job) => deliverWebhook(deps, job), concurrency: config.WORKER_CONCURRENCY },
    campaigns: { handle: tracing('campaigns', sendCampaignBatch), concurrency: 4 },
    mail: { handle: tracing('mail', sendMail), concurrency: 5 },
    imports: { handle: tracing('imports', runImport), concurrency: 2 },
    maintenance: { handle: tracing('maintenance', maintain), concurrency: 1 },
  }
}

/** What comes by the clock names nothing; the rest names something that was removed, of whichever kind. */
async function maintain(deps: WorkerDeps, job: WorkJob): Promise<void> {
  const { workspaceId, id }: Partial<WorkJob> = job
  if (!workspaceId || !id) return purgeExpired(deps)
  for (const clear of [clearDeletedListJob, clearCustomField, clearDeletedWorkspaceJob]) await clear(deps, job)
}

const retry = (attempts: number, delay: number): JobsOptions => ({
  attempts,
  backoff: { type: 'exponential', delay, jitter: 0.2 },
})

/**
 * When a job is run again that threw: because the database was away, or because something waits for its next try. What
 * may not be repeated is guarded by its claim, whatever the queue does.
 */
export const jobOptions: Record<QueueName, JobsOptions> = {
  webhooks: retry(10, 500),
  campaigns: retry(10, 10_000),
  mail: retry(5, 30_000),
  imports: retry(10, 1_000),
  maintenance: retry(5, 5_000),
}
