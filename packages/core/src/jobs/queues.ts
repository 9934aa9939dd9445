import { z } from 'zod'
import { Id } from '../kernel/ids.ts'

/**
 * The queues and the data of a job, without any queue library. Separate queues, so that a campaign never delays a password
 * reset. A job names a row in PostgreSQL; some jobs of maintenance name none, as a schedule adds them.
 */
export const queueNames = ['webhooks', 'campaigns', 'mail', 'imports', 'maintenance'] as const
export type QueueName = (typeof queueNames)[number]
/** The queues whose work has rows in the outbox: a job of `webhooks` drains the PENDING deliveries of a webhook. */
export type OutboxQueue = Exclude<QueueName, 'webhooks'>

/** The data of a job: ids, never personal data. `id` is the UUID of the webhook, batch, mail or import, or of what was removed. */
export const WorkJob = z.object({
  workspaceId: Id('wsp'),
  id: z.guid(),
  /** The request that asked for it, and its span: for logs and traces alone. */
  requestId: z.string().nullish(),
  traceparent: z.string().nullish(),
})
export type WorkJob = z.output<typeof WorkJob>

/** Keys of one queue share a hash tag, so that a Redis Cluster keeps them together. */
export const queuePrefix = (queue: QueueName) => `{rapport:${queue}}`

/** Schema of BullMQ's own tables where it runs on PostgreSQL. */
export const queueSchema = 'bullmq'

/** The channel that wakes the relays, see `wake-relays.ts`. */
export const workChannel = 'rapport_outbox'
