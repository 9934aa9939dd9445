import { z } from 'zod'
import { Id } from '../kernel/ids.ts'

/**
 * The queues and the data of a job, independent of the queue library. The queues are separate, so that a campaign never
 * delays a password reset. A job names a row in PostgreSQL, except scheduled maintenance jobs.
 */
export const queueNames = ['webhooks', 'campaigns', 'mail', 'imports', 'maintenance'] as const
export type QueueName = (typeof queueNames)[number]
/** The queues whose work has rows in the outbox. `webhooks` needs none: its jobs drain the PENDING deliveries. */
export type OutboxQueue = Exclude<QueueName, 'webhooks'>

/** Job data: ids, never personal data. `id` is the UUID of a webhook, batch, mail, import or deleted record. */
export const WorkJob = z.object({
  workspaceId: Id('wsp'),
  id: z.guid(),
  /** The request that caused the job, and its span: only for logs and traces. */
  requestId: z.string().nullish(),
  traceparent: z.string().nullish(),
})
export type WorkJob = z.output<typeof WorkJob>

/** Keys of one queue share a hash tag, so that a Redis Cluster keeps them together. */
export const queuePrefix = (queue: QueueName) => `{rapport:${queue}}`

/** The database schema of BullMQ's tables if the queues are stored in PostgreSQL. */
export const queueSchema = 'bullmq'

/** The NOTIFY channel of the relays, see `wake-relays.ts`. */
export const workChannel = 'rapport_outbox'
