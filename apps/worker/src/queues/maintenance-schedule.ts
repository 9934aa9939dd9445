import type { JobQueues } from '@rapport/core/work/job-queues.ts'
import type { WorkQueue } from './queue-backend.ts'

const maintenanceEveryMs = 3_600_000

/** Creates the schedule of the maintenance job if it is missing, for example after Redis was flushed. */
export async function ensureSchedule({ queueOf }: JobQueues<WorkQueue>): Promise<void> {
  const maintenance = queueOf('maintenance')
  if (await maintenance.getJobScheduler('purge-expired')) return
  await maintenance.upsertJobScheduler('purge-expired', { every: maintenanceEveryMs }, { name: 'purge-expired' })
}
