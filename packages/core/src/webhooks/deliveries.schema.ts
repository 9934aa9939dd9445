import { z } from 'zod'
import { eventTypes } from '../events/event-definition.ts'
import { TimestampInput, Timestamp } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort, SortBy } from '../request/paging.ts'

/** A delivery that is being attempted at this moment still shows as PENDING. */
export const deliveryStatuses = ['PENDING', 'SUCCEEDED', 'FAILED', 'INTERRUPTED'] as const

export const Delivery = z
  .object({
    id: RecordId('dlv'),
    webhookId: RecordId('whk'),
    eventId: RecordId('evt'),
    eventType: z.string(),
    status: z.enum(deliveryStatuses),
    attemptedAt: Timestamp.nullable(),
    durationMs: z.number().int().nullable(),
    responseStatus: z.number().int().nullable(),
    responseBody: z.string().nullable().meta({ description: 'Its first 4 KiB' }),
    error: z.string().nullable(),
    createdAt: Timestamp,
  })
  .meta({
    id: 'Delivery',
    description:
      'One attempt to tell one webhook of one event. INTERRUPTED: the worker died while the request was out, or a backup was restored that has it waiting: nobody knows how it ended.',
    examples: [
      {
        id: 'dlv_01kag7m3v9e8fs2t4w6x8y0z1b',
        webhookId: 'whk_01kag7m3v9e8fs2t4w6x8y0z1b',
        eventId: 'evt_01kag7m3v9e8fs2t4w6x8y0z1b',
        eventType: 'contact.created',
        status: 'SUCCEEDED',
        attemptedAt: '2026-11-21T06:35:49.129Z',
        durationMs: 87,
        responseStatus: 204,
        responseBody: '',
        error: null,
        createdAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Delivery = z.output<typeof Delivery>

const EventTypeFilter = z.enum([...eventTypes, 'webhook.test'], { error: 'is not an event type' })
const Status = z.enum(deliveryStatuses, { error: `must be one of ${deliveryStatuses.join(', ')}` })

export const DeliveryQuery = PageQuery.extend({
  sort: Sort(['createdAt']),
  status: Status.optional(),
  eventType: EventTypeFilter.optional(),
})
export type DeliveryQuery = z.output<typeof DeliveryQuery>

export const RedeliverInput = z
  .strictObject({
    status: Status.exclude(['PENDING'], { error: 'must be one of SUCCEEDED, FAILED, INTERRUPTED' }),
    since: TimestampInput.describe('Deliveries created at this moment or later'),
    until: TimestampInput.describe('… and before this one'),
    eventType: EventTypeFilter.optional(),
    dryRun: z.boolean().default(false).describe('Counts, and queues nothing'),
  })
  .meta({
    examples: [{ status: 'FAILED', since: '2026-11-21T06:00:00Z', until: '2026-11-21T09:00:00Z', dryRun: true }],
  })
export type RedeliverInput = z.output<typeof RedeliverInput>

export const RedeliverResult = z
  .object({ queued: z.number().int() })
  .meta({ id: 'RedeliverResult', examples: [{ queued: 48 }] })
export type RedeliverResult = z.output<typeof RedeliverResult>

export const EventQuery = PageQuery.extend({
  sort: SortBy(['createdAt']).optional().describe('In the order of the feed; newest first unless `after` is given'),
  after: Id('evt').optional().describe('Reads on in order after this event: keep the last id that you have dealt with'),
  type: EventTypeFilter.optional(),
})
export type EventQuery = z.output<typeof EventQuery>
