import { z } from 'zod'
import type { EventFilter } from '../db/schema/index.ts'
import { maxFilterTextLength } from '../events/event-filter.ts'
import { eventTypes } from '../events/event-definition.ts'
import { RecordId } from '../kernel/ids.ts'
import { CreatedAt, SingleLine } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { maxUrlLength } from './address-policy.ts'
import { EventTypeName } from './event-type-name.ts'

const subscribable = [...eventTypes, '*'] as const

const example = {
  id: 'whk_01kag7m3v9e8fs2t4w6x8y0z1b',
  url: 'https://example.com/hooks/rapport',
  eventTypes: ['contact.created'],
  filter: null,
  enabled: true,
  disabledReason: null,
  lastSuccessAt: '2026-11-22T09:12:30.456Z',
  lastFailureAt: null,
  failingSince: null,
  pausedUntil: null,
  createdAt: '2026-11-21T06:35:49.123Z',
}

/** A webhook that a worker disabled. */
export const disabledExample = {
  ...example,
  enabled: false,
  disabledReason: 'All 14 attempts since 2026-11-22T10:00:00Z failed',
  lastFailureAt: '2026-11-27T10:20:08.901Z',
  failingSince: '2026-11-22T10:00:00.012Z',
}

const FilterValue = z.union(
  [SingleLine(maxFilterTextLength), z.number(), z.boolean(), z.null()],
  'must be a string, a number, true, false or null',
)

const FieldCondition = z
  .union(
    [
      z.strictObject({ eq: FilterValue.describe('The value of the field. `null` for none.') }),
      z.strictObject({
        in: z
          .array(FilterValue)
          .min(1, 'must have at least one value')
          .max(100, 'must have at most 100 values')
          .describe('The values that the field may have.'),
      }),
    ],
    'must be an object with eq or in',
  )
  .describe('The values that a field of `data` may have, compared exactly.')

const WebhookFilter = z
  .object({
    changed: z
      .array(z.string())
      .min(1, 'must name at least one field')
      .max(100, 'must name at most 100 fields')
      .optional()
      .describe('The event has one of these fields in `changes`. `customFieldValues` stands for all custom values.'),
  })
  .catchall(FieldCondition)
  .meta({
    id: 'WebhookFilter',
    description:
      'The conditions for the `data` of an event, of which all must hold: `changed`, or the name of a string, number or boolean of `data`. A webhook has no delivery for an event that does not match.',
    examples: [{ changed: ['email', 'customFieldValues.plan'], source: { in: ['shop', null] } }],
  }) as unknown as z.ZodType<EventFilter, EventFilter>

export const Webhook = z
  .object({
    id: RecordId('whk'),
    url: z.string().describe('The URL that receives the events.'),
    // Not an enum: during an upgrade, a process of the next release may store types that this release does not know.
    eventTypes: z
      .array(z.string())
      .describe('The event types to deliver, as in `GET /event-types`. `*` stands for all.'),
    filter: WebhookFilter.nullable().describe('Which events of these types are delivered. `null` for all.'),
    enabled: z.boolean().describe('Whether events are delivered.'),
    disabledReason: z.string().nullable().meta({
      description:
        'Why the system disabled the webhook: at least 10 attempts over 5 days all failed, or a custom field of its filter was deleted. `null` if the webhook is enabled, or if a user disabled it.',
    }),
    lastSuccessAt: Timestamp.nullable().meta({
      description: 'When the last successful attempt ended. `null` before the first.',
    }),
    lastFailureAt: Timestamp.nullable().meta({
      description:
        'When the last failed attempt ended, or when a delivery last could not be signed. `null` before the first.',
    }),
    failingSince: Timestamp.nullable().meta({
      description:
        'When the first failed attempt since the last success, or since deliveries could last not be signed, ended. `null` after a success, and after `enabled` is set to `true`. After 24 hours, owners and admins get an email.',
    }),
    pausedUntil: Timestamp.nullable().meta({
      description:
        'No attempt starts before this time, because the receiver did not respond several times in a row, or because deliveries could not be signed. A new `url`, `enabled: true`, a test or a redelivery ends the pause. `null` if deliveries are not paused.',
    }),
    createdAt: CreatedAt,
  })
  .meta({
    id: 'Webhook',
    description: 'A URL that receives events. Each event is sent in one signed request, without automatic retries.',
    examples: [example],
  })
export type Webhook = z.output<typeof Webhook>

export const CreatedWebhook = z
  .object({
    ...Webhook.shape,
    secret: z.string().meta({
      description: 'The key to verify signatures as defined by Standard Webhooks. Only this response contains it.',
    }),
  })
  .meta({
    id: 'CreatedWebhook',
    description: 'A webhook with its signing secret.',
    examples: [{ ...example, lastSuccessAt: null, secret: `whsec_${'A'.repeat(43)}=` }],
  })
export type CreatedWebhook = z.output<typeof CreatedWebhook>

const writable = {
  url: SingleLine(maxUrlLength).describe(
    'The URL that receives the events. Its host must be a public name or address.',
  ),
  eventTypes: z
    .array(EventTypeName(subscribable, 'must be "*" or an event type of GET /event-types other than webhook.test'))
    .min(1, 'must name at least one event type')
    .max(100, 'must have at most 100 event types')
    .transform((types) => [...new Set(types)])
    .describe('The event types to deliver. `*` stands for all.'),
  filter: WebhookFilter.nullable().describe(
    'Which events of these types to deliver: at most 10 conditions and 4 KiB, as JSON. `null` for all.',
  ),
}

export const WebhookInput = z.strictObject({ ...writable, filter: writable.filter.default(null) }).meta({
  id: 'WebhookCreate',
  description: 'A new webhook.',
  examples: [
    {
      url: 'https://example.com/hooks/rapport',
      eventTypes: ['contact.updated'],
      filter: { changed: ['email'] },
    },
  ],
})
export type WebhookInput = z.output<typeof WebhookInput>

export const WebhookChange = z
  .strictObject({ ...writable, enabled: z.boolean().describe('Whether events are delivered.') })
  .partial()
  .meta({
    id: 'WebhookUpdate',
    description: 'The fields of the webhook to change. Omitted fields stay unchanged.',
    examples: [{ enabled: false }],
  })
export type WebhookChange = z.output<typeof WebhookChange>

export const WebhookQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type WebhookQuery = z.output<typeof WebhookQuery>
