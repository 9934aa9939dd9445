/** Every event that the API emits. `GET /event-types` and the `webhooks` of OpenAPI are generated from this list. */
import { z } from 'zod'
import { allowMoreProperties, simplifySchemas } from '../kernel/json-schema.ts'
import type { EmittedType, EventDefinition, EventSubject } from '../events/event-definition.ts'
import { mailBounced, mailComplained } from './mail-events.schema.ts'
import { Event, exampleEvent } from '../webhooks/event-feed.schema.ts'
import { dealCreated, dealDeleted, dealLost, dealStageChanged, dealUpdated, dealWon } from '../deals/deal-events.ts'
import { listDeleted } from '../lists/list-events.ts'
import { taskCompleted, taskCreated, taskDeleted, taskUpdated } from '../tasks/task-events.ts'
import { contactCreated, contactDeleted, contactMerged, contactUpdated } from '../contacts/contact-events.ts'
import { importCompleted } from '../imports/import-events.ts'
import { webhookDisabled, webhookTest } from '../webhooks/webhook-events.ts'
import {
  subscriptionCreated,
  subscriptionConfirmed,
  subscriptionUnsubscribed,
} from '../subscriptions/subscription-events.ts'
import { campaignCanceled, campaignSending, campaignSent } from '../campaigns/campaign-events.ts'
import { formSubmitted } from '../forms/form-events.ts'

/** One line per type. A missing type or a definition on the wrong line does not compile. */
export const eventDefinitions = {
  'contact.created': contactCreated,
  'contact.updated': contactUpdated,
  'contact.deleted': contactDeleted,
  'contact.merged': contactMerged,
  'form.submitted': formSubmitted,
  'subscription.created': subscriptionCreated,
  'subscription.confirmed': subscriptionConfirmed,
  'subscription.unsubscribed': subscriptionUnsubscribed,
  'deal.created': dealCreated,
  'deal.updated': dealUpdated,
  'deal.stage_changed': dealStageChanged,
  'deal.won': dealWon,
  'deal.lost': dealLost,
  'deal.deleted': dealDeleted,
  'task.created': taskCreated,
  'task.updated': taskUpdated,
  'task.completed': taskCompleted,
  'task.deleted': taskDeleted,
  'list.deleted': listDeleted,
  'campaign.sending': campaignSending,
  'campaign.sent': campaignSent,
  'campaign.canceled': campaignCanceled,
  'import.completed': importCompleted,
  'mail.bounced': mailBounced,
  'mail.complained': mailComplained,
  'webhook.disabled': webhookDisabled,
  'webhook.test': webhookTest,
} satisfies { [Type in EmittedType]: EventDefinition<EventSubject, Type> }

export const EventTypes = z
  .object({
    data: z
      .array(
        z.object({
          type: z.string().describe('The event type.'),
          schema: z.record(z.string(), z.unknown()).describe('The JSON Schema of `data`.'),
          example: Event,
        }),
      )
      .describe('The event types.'),
  })
  .meta({ id: 'EventTypes', description: 'All event types.' })
export type EventTypes = z.output<typeof EventTypes>

/** Returns every type with the JSON Schema of its `data` and a complete example event. */
export function describeEventTypes(): EventTypes {
  return { data: Object.values(eventDefinitions).map(describeEventType) }
}

function describeEventType({
  type,
  schema: data,
  example,
}: {
  type: string
  schema: z.ZodType
  example: unknown
}): EventTypes['data'][number] {
  const { id = '' } = data.meta() as { id?: string }
  const { $schema, $defs: { [id]: own, ...others } = {} } = z.toJSONSchema(data, {
    io: 'output',
    override: allowMoreProperties,
  })
  simplifySchemas([own, others])
  const { examples: _examples, ...schema } = own as Record<string, unknown>
  return {
    type,
    schema: { $schema, title: id, ...schema, ...(Object.keys(others).length > 0 && { $defs: others }) },
    example: { ...exampleEvent, type, data: example },
  }
}
