import { z } from 'zod'
import { workKinds } from '../db/schema/index.ts'
import { Id, nilUuid, type WorkspaceId } from '../kernel/ids.ts'

/**
 * The queues and the data of a job, independent of the queue library. The queues are separate, so that a campaign never
 * delays a password reset. A job names a row in PostgreSQL, except scheduled maintenance jobs.
 */
export const queueNames = ['webhooks', 'campaigns', 'mail', 'imports', 'maintenance'] as const
export type QueueName = (typeof queueNames)[number]

/** Job data: ids, never personal data. `id` is the UUID of a batch, mail, import or deleted record, or the nil UUID. */
export const WorkJob = z.object({
  workspaceId: Id('wsp'),
  kind: z.enum(workKinds),
  id: z.guid(),
  /** The request that caused the job, and its span: only for logs and traces. */
  requestId: z.string().nullish(),
  traceparent: z.string().nullish(),
})
export type WorkJob = z.output<typeof WorkJob>

/** The id of every drain: its subject is the workspace, whose own id is that of the work that clears it. */
export const drainId = nilUuid
/** The job that drains the webhooks of a workspace. */
export const drainJobOf = (workspaceId: WorkspaceId): WorkJob => ({ workspaceId, kind: 'DRAIN', id: drainId })

/** The job that releases the mails that visitors of a workspace asked for. */
export const releaseJobOf = (workspaceId: WorkspaceId): WorkJob => ({ workspaceId, kind: 'VISITOR_MAILS', id: nilUuid })

/** Keys of one queue share a hash tag, so that a Redis Cluster keeps them together. */
export const queuePrefix = (queue: QueueName) => `{rapport:${queue}}`

/** The database schema of BullMQ's tables if the queues are stored in PostgreSQL. */
export const queueSchema = 'bullmq'
