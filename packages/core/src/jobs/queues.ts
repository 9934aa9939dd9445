import { z } from 'zod'
import { Id } from '../kernel/ids.ts'

/**
 * The queues and what a job is, without any queue library. Separate queues, so that a campaign never delays a password
 * reset. A job names a row whose outbox entry carries the same id; on maintenance there are also some that name none,
 * as they come by the clock.
 */
export const queueNames = ['webhooks', 'campaigns', 'mail', 'imports', 'maintenance'] as const
export type QueueName = (typeof queueNames)[number]

/** The data of a job: ids, never personal data. `id` is the UUID of the delivery, batch, mail or import, or of what was removed. */
export const WorkJob = z.object({
  workspaceId: Id('wsp'),
  id: z.guid(),
  /** The request that asked for it, and the span that it goes on from: for logs and traces alone. */
  requestId: z.string().nullish(),
  traceparent: z.string().nullish(),
})
export type WorkJob = z.output<typeof WorkJob>

/** Keys of one queue share a hash tag, so that a Redis Cluster keeps them together. */
export const queuePrefix = (queue: QueueName) => `{rapport:${queue}}`

/** Schema of BullMQ's own tables where it runs on PostgreSQL. */
export const queueSchema = 'bullmq'

/** The channel that wakes the relays when a transaction that enqueued something commits. */
export const outboxChannel = 'rapport_outbox'
