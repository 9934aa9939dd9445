import { z } from 'zod'
import { eventTypes } from '../events/event-definition.ts'
import { CreatedAt, OptionalObject } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { deliveryStatuses } from '../db/schema/index.ts'
import { PageQuery, Repeatable, Sort, SortBy } from '../request/paging.ts'
import { timeRange } from '../request/time-range.ts'
import { EventTypeName } from './event-type-name.ts'

export const Delivery = z
  .object({
    id: RecordId('dlv'),
    webhookId: RecordId('whk'),
    eventId: RecordId('evt'),
    eventType: z.string().describe('The event type.'),
    status: z.enum(deliveryStatuses).describe('`PENDING` until the outcome is recorded.'),
    attemptedAt: Timestamp.nullable().describe(
      'When the request was sent. `null` before, and if it could not be attempted.',
    ),
    durationMs: z
      .number()
      .int()
      .nullable()
      .describe('The duration of the request in milliseconds. `null` before the outcome is recorded.'),
    responseStatus: z.number().int().nullable().describe('The HTTP status of the response. `null` if there was none.'),
    responseBody: z
      .string()
      .nullable()
      .meta({ description: 'The first 4 KiB of the response body. `null` if there was none.' }),
    error: z.string().nullable().describe('Why the delivery failed, or why it waits. Otherwise `null`.'),
    createdAt: CreatedAt,
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

const EventTypeFilter = EventTypeName([...eventTypes, 'webhook.test'])
const Status = z.enum(deliveryStatuses)

export const DeliveryQuery = PageQuery.extend({
  sort: Sort(['createdAt']),
  status: Status.optional().describe('Only deliveries with this status.'),
  type: EventTypeFilter.optional().describe('Only deliveries of this event type.'),
})
export type DeliveryQuery = z.output<typeof DeliveryQuery>

export const WebhookTestInput = OptionalObject({
  type: EventTypeFilter.default('webhook.test').describe(
    'The type of the event. `data` is the example of the type in `GET /event-types`; that of `webhook.test` is the webhook.',
  ),
}).meta({
  id: 'WebhookTestRequest',
  description: 'Which event to send.',
  examples: [{ type: 'deal.won' }],
})
export type WebhookTestInput = z.output<typeof WebhookTestInput>

const redeliveryRange = timeRange('created')

export const RedeliverInput = OptionalObject({
  status: Status.exclude(['PENDING'])
    .optional()
    .describe('Only deliveries with this status. Default: `FAILED` and `INTERRUPTED`.'),
  ...redeliveryRange,
  createdAfter: redeliveryRange.createdAfter.describe(
    `${redeliveryRange.createdAfter.description} Default: 24 hours before \`createdBefore\`, or before now.`,
  ),
  type: EventTypeFilter.optional().describe('Only deliveries of this event type. Default: all types.'),
  dryRun: z.boolean().default(false).describe('Returns the number of deliveries without queueing them.'),
}).meta({
  id: 'WebhookRedeliverRequest',
  description: 'Which deliveries to repeat.',
  examples: [{ createdAfter: '2026-11-21T06:00:00Z', createdBefore: '2026-11-21T09:00:00Z', dryRun: true }],
})
export type RedeliverInput = z.output<typeof RedeliverInput>

export const RedeliverResult = z.object({ queued: z.number().int().describe('The number of new deliveries.') }).meta({
  id: 'RedeliverResult',
  description: 'The deliveries will be repeated in the background.',
  examples: [{ queued: 48 }],
})
export type RedeliverResult = z.output<typeof RedeliverResult>

/** Also for a malformed id, which fails with the same error as the id of a deleted event. */
export const eventNotFound =
  'Event not found. It may have been deleted because of its age. To start from the oldest event, use GET /events?sort=createdAt'

export const EventQuery = PageQuery.extend({
  sort: SortBy(['createdAt'])
    .optional()
    .describe('The order of the feed. Default: newest first; with `after`, oldest first.'),
  after: Id('evt', eventNotFound)
    .optional()
    .describe(
      'Returns the events after this event, oldest first. Store the id of the last event that you read from this feed, and pass it here. An event that a webhook delivered must not advance this cursor, because earlier deliveries may have failed.',
    ),
  type: Repeatable(EventTypeFilter)
    .optional()
    .describe('Only events of this type. Repeatable: events of any of the types.'),
  contactId: Id('con').optional().describe('Only events of this contact and of the contacts that were merged into it.'),
})
export type EventQuery = z.output<typeof EventQuery>
