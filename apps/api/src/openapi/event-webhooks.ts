/** The events in the OpenAPI document: the request that a webhook receives for each type, and the data of an event. */
import { describeEventTypes } from '@rapport/core/operations/webhooks/event-types.ts'
import { webhookTest } from '@rapport/core/webhooks/webhook-events.ts'
import type { Document } from './document.ts'

const signatureHeaders = Object.entries({
  'webhook-id': 'The id of the event. Use it to ignore an event that you have received before.',
  'webhook-timestamp': 'When the request was sent, in seconds since 1970. Reject a request that is too old.',
  'webhook-signature': 'The signatures of the request as defined by Standard Webhooks (`v1,…`), separated by spaces.',
}).map(([name, description]) => ({ name, in: 'header', required: true, description, schema: { type: 'string' } }))

/** Describes one request per event type, signed as Standard Webhooks. */
export function describeEventWebhooks(): Record<string, unknown> {
  const webhooks = describeEventTypes().map(({ type, schema, example }) => {
    const properties = {
      id: { type: 'string', description: 'The id of the event.' },
      type: { const: type, description: 'The event type.' },
      timestamp: { type: 'string', format: 'date-time', description: 'When the event was emitted.' },
      data: oneOfRecords([String(schema['title'])]),
    }
    const post = {
      operationId: `event.${type}`,
      summary: type,
      description:
        type === webhookTest.type
          ? 'Sent to one webhook by `POST /webhooks/{id}/test`, whatever its event types are, in one signed attempt.'
          : 'Sent to every enabled webhook that is subscribed to this event type, in one signed attempt.',
      tags: ['Events'],
      security: [],
      parameters: signatureHeaders,
      requestBody: {
        required: true,
        content: {
          'application/json': { schema: { type: 'object', properties, required: Object.keys(properties) }, example },
        },
      },
      responses: {
        '2XX': {
          description:
            'Delivered. With any other status, or without a response within 10 seconds, the delivery has failed.',
        },
      },
    }
    return [type, { post }]
  })
  return Object.fromEntries(webhooks) as Record<string, unknown>
}

/** Describes `data` in the schemas `Event` and `Activity`: the record of any event type. */
export function describeEventData({ components }: Document): void {
  const records = new Set(describeEventTypes().map(({ schema }) => String(schema['title'])))
  for (const name of ['Event', 'Activity']) {
    Object.assign(components?.schemas?.[name]?.properties?.['data'] ?? {}, oneOfRecords([...records]))
  }
}

/** After the deletion of a contact, `RedactedRecord` replaces the record. */
function oneOfRecords(names: string[]) {
  return {
    description: 'The record as the API shows it, or `RedactedRecord` after the deletion of the contact.',
    anyOf: [...names, 'RedactedRecord'].map((name) => ({ $ref: `#/components/schemas/${name}` })),
  }
}
