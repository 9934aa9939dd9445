/** Every event that the API emits. `GET /event-types` and the `webhooks` of OpenAPI are generated from this list. */
import { z } from 'zod'
import { completeJsonSchema, simplifySchemas } from '../../kernel/json-schema.ts'
import {
  type EmittedType,
  type EventDefinition,
  type EventSubject,
  RedactedRecord,
} from '../../events/event-definition.ts'
import { type Page, PageQuery, pageOfList } from '../../request/paging.ts'
import type { Ctx } from '../../request/context.ts'
import { mailBounced, mailComplained } from '../mail/mail-events.schema.ts'
import { Event, exampleEvent } from '../../webhooks/event-feed.schema.ts'
import { companyCreated, companyDeleted, companyUpdated } from '../../companies/company-events.ts'
import { dealCreated, dealDeleted, dealLost, dealStageChanged, dealUpdated, dealWon } from '../../deals/deal-events.ts'
import { listDeleted } from '../../lists/list-events.ts'
import { noteCreated, noteDeleted, noteUpdated } from '../../notes/note-events.ts'
import { taskCompleted, taskCreated, taskDeleted, taskUpdated } from '../../tasks/task-events.ts'
import { contactCreated, contactDeleted, contactMerged, contactUpdated } from '../../contacts/contact-events.ts'
import { importCompleted } from '../../imports/import-record.ts'
import type { WebhookId } from '../../kernel/ids.ts'
import type { Delivery, WebhookTestInput } from '../../webhooks/deliveries.schema.ts'
import { testWebhook } from '../../webhooks/delivery-log.ts'
import { webhookDisabled, webhookTest } from '../../webhooks/webhook-events.ts'
import {
  subscriptionCreated,
  subscriptionConfirmed,
  subscriptionUnsubscribed,
} from '../../consent/subscription-events.ts'
import { campaignCanceled, campaignSending, campaignSent } from '../../campaigns/campaign-events.ts'
import { emailFailed, emailInterrupted, emailSent, emailSkipped } from '../../emails/emails.schema.ts'
import { templatePaused } from '../../emails/templates/templates.schema.ts'
import { domainFailed, domainVerified } from '../../domains/domains.schema.ts'
import { trackingConsentChanged } from '../../consent/tracking/tracking-consent.schema.ts'
import { confirmationsWithheld } from '../../mail/budget/withheld-confirmations.schema.ts'
import { formSubmitted } from '../../forms/form-events.ts'

/** One line per type. A missing type or a definition on the wrong line does not compile. */
export const eventDefinitions = {
  'contact.created': contactCreated,
  'contact.updated': contactUpdated,
  'contact.deleted': contactDeleted,
  'contact.merged': contactMerged,
  'company.created': companyCreated,
  'company.updated': companyUpdated,
  'company.deleted': companyDeleted,
  'form.submitted': formSubmitted,
  'subscription.created': subscriptionCreated,
  'subscription.confirmed': subscriptionConfirmed,
  'subscription.unsubscribed': subscriptionUnsubscribed,
  'tracking_consent.changed': trackingConsentChanged,
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
  'note.created': noteCreated,
  'note.updated': noteUpdated,
  'note.deleted': noteDeleted,
  'list.deleted': listDeleted,
  'campaign.sending': campaignSending,
  'campaign.sent': campaignSent,
  'campaign.canceled': campaignCanceled,
  'import.completed': importCompleted,
  'template.paused': templatePaused,
  'email.sent': emailSent,
  'email.failed': emailFailed,
  'email.interrupted': emailInterrupted,
  'email.skipped': emailSkipped,
  'mail.bounced': mailBounced,
  'mail.complained': mailComplained,
  'confirmations.withheld': confirmationsWithheld,
  'domain.verified': domainVerified,
  'domain.failed': domainFailed,
  'webhook.disabled': webhookDisabled,
  'webhook.test': webhookTest,
} satisfies { [Type in EmittedType]: EventDefinition<EventSubject, Type> }

export const DescribedEventType = z
  .object({
    type: z.string().describe('The event type.'),
    schema: z.record(z.string(), z.unknown()).describe('The JSON Schema of `data`.'),
    example: Event,
  })
  .meta({ id: 'EventType', description: 'An event type with the schema of its `data` and an example.' })
export type DescribedEventType = z.output<typeof DescribedEventType>

export const EventTypeQuery = PageQuery.pick({ limit: true, cursor: true })
export type EventTypeQuery = z.output<typeof EventTypeQuery>

const definitions: readonly EventDefinition<EventSubject>[] = Object.values(eventDefinitions)

/** Sends an event to one webhook: `webhook.test`, or the example of another type. */
export async function sendTestEvent(ctx: Ctx, id: WebhookId, { type }: WebhookTestInput): Promise<Delivery> {
  return await testWebhook(ctx, id, eventDefinitions[type])
}

/** Lists a page of all types, in the order of `eventDefinitions`. */
export function listEventTypes(ctx: Ctx, query: EventTypeQuery): Page<DescribedEventType> {
  const page = pageOfList(ctx, { name: 'event types', query, items: definitions, nameOf: ({ type }) => type })
  return { ...page, data: page.data.map(describeEventType) }
}

/** Returns every type with the JSON Schema of its `data` and a complete example event. */
export function describeEventTypes(): DescribedEventType[] {
  return definitions.map(describeEventType)
}

/** The title of the schema is the name of the record in the OpenAPI document. */
function describeEventType({ type, schema: record, example }: EventDefinition<EventSubject>): DescribedEventType {
  const data = z.union([record, RedactedRecord])
  const schema = z.toJSONSchema(data, { io: 'output', override: completeJsonSchema })
  simplifySchemas(schema)
  for (const definition of Object.values(schema.$defs ?? {})) delete definition.examples
  return { type, schema: { title: record.meta()?.id, ...schema }, example: { ...exampleEvent, type, data: example } }
}
