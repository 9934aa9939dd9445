import { isDeepStrictEqual } from 'node:util'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import { queueOfJob, type WorkKind } from '@rapport/core/work/kinds.ts'
import { type QueueName, WorkJob } from '@rapport/core/work/queues.ts'
import { clearCustomField, clearList, clearWorkspace, eraseContact, releaseCompany } from '../jobs/clear-deleted.ts'
import { describeResult, drainWebhooks, type JobControl } from '../jobs/drain-webhooks.ts'
import { runHourlyMaintenance } from '../jobs/hourly-maintenance.ts'
import { mailJobs } from '../jobs/job-shares.ts'
import { releaseMails } from '../jobs/release-mails.ts'
import { runImport } from '../jobs/run-import.ts'
import { sendCampaignBatch } from '../jobs/send-campaign-batch.ts'
import { sendEmail, sendMail } from '../jobs/send-mail.ts'
import { runTraced, type WorkerDeps } from '../process/worker-deps.ts'

type Handler = (deps: WorkerDeps, job: WorkJob) => Promise<void>

/** The handler of each kind of work, except the drain, which reports its progress. */
export const handlers: Record<Exclude<WorkKind, 'DRAIN'>, Handler> = {
  ACCOUNT_MAIL: sendMail,
  MAIL: sendMail,
  EMAIL: sendEmail,
  CAMPAIGN_BATCH: sendCampaignBatch,
  IMPORT: runImport,
  CLEAR_LIST: clearList,
  CLEAR_CUSTOM_FIELD: clearCustomField,
  RELEASE_COMPANY: releaseCompany,
  ERASE_CONTACT: eraseContact,
  CLEAR_WORKSPACE: clearWorkspace,
  VISITOR_MAILS: releaseMails,
}

interface QueueHandler {
  /** The dashboard shows the resolved value. */
  handle: (data: WorkJob, control: JobControl) => Promise<unknown>
  concurrency: number
}

/** Whether a publisher, the poll or the schedule could have added the job. Users of the dashboard can add jobs with any data. */
export function isKnownJob(queue: QueueName, data: unknown): data is WorkJob {
  const { success, data: job } = WorkJob.safeParse(data)
  if (success) return queueOfJob(job) === queue
  return isScheduled(queue, data)
}

/** The scheduled job has no data. */
const isScheduled = (queue: QueueName, data: unknown) => queue === 'maintenance' && isDeepStrictEqual(data ?? {}, {})

/** The handler and the concurrency limit of each queue. */
export function createQueueHandlers(deps: WorkerDeps, config: WorkerConfig): Record<QueueName, QueueHandler> {
  const handle = (queue: QueueName) => (data: WorkJob) =>
    runTraced(deps, { queue, job: data }, async (job) => {
      if (isScheduled(queue, data)) await runHourlyMaintenance(deps)
      else if (job.kind !== 'DRAIN') await handlers[job.kind](deps, job)
    })
  return {
    // Each delivery has its own span, so the job has none.
    webhooks: {
      handle: (job, control) => drainWebhooks(deps, job, control).then(describeResult),
      concurrency: config.WORKER_CONCURRENCY,
    },
    campaigns: { handle: handle('campaigns'), concurrency: 4 },
    mail: { handle: handle('mail'), concurrency: mailJobs },
    imports: { handle: handle('imports'), concurrency: 2 },
    // Hourly maintenance runs to its end: further jobs erase contacts meanwhile.
    maintenance: { handle: handle('maintenance'), concurrency: 3 },
  }
}
