import { z } from 'zod'
import { eventTypes } from '../events/event-definition.ts'
import { TimestampInput, Timestamp } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort, SortBy } from '../request/paging.ts'

/** A delivery stays PENDING while its request is in flight. */
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
    responseBody: z.string().nullable().meta({ description: 'The first 4 KiB of the response body' }),
    error: z.string().nullable(),
    createdAt: Timestamp,
  })
  .meta({
    id: 'Delivery',
    description:
      'One attempt to deliver one event to one webhook. INTERRUPTED: the outcome is unknown, because the worker crashed during the request, or because a backup was restored in which the delivery was PENDING.',
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

const EventTypeFilter = z.enum([...eventTypes, 'webhook.test'], {
  error: 'must be an event type such as contact.created',
})
const Status = z.enum(deliveryStatuses)

export const DeliveryQuery = PageQuery.extend({
  sort: Sort(['createdAt']),
  status: Status.optional(),
  eventType: EventTypeFilter.optional(),
})
export type DeliveryQuery = z.output<typeof DeliveryQuery>

export const RedeliverInput = z
  .strictObject({
    status: Status.exclude(['PENDING']),
    since: TimestampInput.describe('Only deliveries created at or after this time'),
    until: TimestampInput.describe('Only deliveries created before this time'),
    eventType: EventTypeFilter.optional(),
    dryRun: z.boolean().default(false).describe('Returns the number of deliveries without queueing them'),
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
  sort: SortBy(['createdAt'])
    .optional()
    .describe('The order of the feed. Default: newest first; with `after`, oldest first.'),
  after: Id('evt')
    .optional()
    .describe(
      'Returns the events after this event, oldest first. Store the id of the last event that you processed, and pass it here.',
    ),
  type: EventTypeFilter.optional(),
})
export type EventQuery = z.output<typeof EventQuery>
