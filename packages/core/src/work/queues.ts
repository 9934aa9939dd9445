import { z } from 'zod'
import { type WorkKind, workKinds } from '../db/schema/index.ts'
import { Id } from '../kernel/ids.ts'

/**
 * The queues and the data of a job, independent of the queue library. The queues are separate, so that a campaign never
 * delays a password reset. A job names a row in PostgreSQL, except scheduled maintenance jobs.
 */
export const queueNames = ['webhooks', 'campaigns', 'mail', 'imports', 'maintenance'] as const
export type QueueName = (typeof queueNames)[number]

/** Job data: ids, never personal data. `id` is the UUID of a webhook, batch, mail, import or deleted record. */
export const WorkJob = z.object({
  workspaceId: Id('wsp'),
  /** Of a row of `work`. A job of the queue `webhooks` has none: it drains the PENDING deliveries. */
  kind: z.enum(workKinds).optional(),
  id: z.guid(),
  /** The request that caused the job, and its span: only for logs and traces. */
  requestId: z.string().nullish(),
  traceparent: z.string().nullish(),
})
export type WorkJob = z.output<typeof WorkJob>
/** A job for a row of `work`. */
export type KnownWorkJob = WorkJob & { kind: WorkKind }

/** A job to be added to a queue. */
export interface PublishableWork {
  queue: QueueName
  job: WorkJob
}

/** Keys of one queue share a hash tag, so that a Redis Cluster keeps them together. */
export const queuePrefix = (queue: QueueName) => `{rapport:${queue}}`

/** The database schema of BullMQ's tables if the queues are stored in PostgreSQL. */
export const queueSchema = 'bullmq'
