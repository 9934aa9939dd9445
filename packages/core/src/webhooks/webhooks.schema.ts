import { z } from 'zod'
import { eventTypes } from '../events/event-definition.ts'
import { RecordId } from '../kernel/ids.ts'
import { SingleLine, Timestamp } from '../kernel/validation.ts'
import { PageQuery, Sort } from '../request/paging.ts'

const subscribable = [...eventTypes, '*'] as const

const example = {
  id: 'whk_01kag7m3v9e8fs2t4w6x8y0z1b',
  url: 'https://example.com/hooks/rapport',
  eventTypes: ['contact.created'],
  enabled: true,
  createdAt: '2026-11-21T06:35:49.123Z',
}

export const Webhook = z
  .object({
    id: RecordId('whk'),
    url: z.string(),
    eventTypes: z.array(z.enum(subscribable)),
    enabled: z.boolean(),
    createdAt: Timestamp,
  })
  .meta({
    id: 'Webhook',
    description: 'An address that is told of events, each in one signed attempt.',
    examples: [example],
  })
export type Webhook = z.output<typeof Webhook>

export const CreatedWebhook = z
  .object({
    ...Webhook.shape,
    secret: z.string().meta({ description: 'Verifies signatures (Standard Webhooks). Shown in this answer only.' }),
  })
  .meta({
    id: 'CreatedWebhook',
    examples: [{ ...example, secret: `whsec_${'A'.repeat(43)}=` }],
  })
export type CreatedWebhook = z.output<typeof CreatedWebhook>

const writable = {
  url: SingleLine(2048),
  eventTypes: z
    .array(z.enum(subscribable, { error: 'is not an event type' }))
    .min(1, 'must name at least one event type')
    .max(100, 'must have at most 100 items')
    .transform((types) => [...new Set(types)]),
}

export const WebhookInput = z
  .strictObject(writable)
  .meta({ examples: [{ url: 'https://example.com/hooks/rapport', eventTypes: ['contact.created'] }] })
export type WebhookInput = z.output<typeof WebhookInput>

export const WebhookChange = z
  .strictObject({ ...writable, enabled: z.boolean() })
  .partial()
  .meta({ examples: [{ enabled: false }] })
export type WebhookChange = z.output<typeof WebhookChange>

export const WebhookQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type WebhookQuery = z.output<typeof WebhookQuery>
