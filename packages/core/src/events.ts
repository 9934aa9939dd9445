import { sql } from 'drizzle-orm'
import type { Campaign } from './campaigns/campaigns.schema.ts'
import type { Contact } from './contacts/contacts.schema.ts'
import type { Ctx } from './context.ts'
import { newId, uuidOf } from './ids.ts'
import type { Subscription } from './lists/lists.schema.ts'
import { enqueueEach } from './outbox.ts'

/** Everything a webhook may ask for. */
export const eventTypes = [
  'contact.created',
  'contact.updated',
  'contact.deleted',
  'contact.merged',
  'form.submitted',
  'subscription.created',
  'subscription.confirmed',
  'subscription.unsubscribed',
  'deal.created',
  'deal.updated',
  'deal.stage_changed',
  'deal.won',
  'deal.lost',
  'deal.deleted',
  'task.created',
  'task.completed',
  'task.deleted',
  'campaign.sending',
  'campaign.sent',
  'campaign.canceled',
  'import.completed',
  'mail.bounced',
  'mail.complained',
] as const
export type EventType = (typeof eventTypes)[number]

/** The `data` of each event that a verb tells: the record as the API shows it. */
interface EventData {
  'contact.created': Contact
  'contact.updated': Contact
  'subscription.created': Subscription
  'subscription.confirmed': Subscription
  'subscription.unsubscribed': Subscription
  'campaign.sending': Campaign
  'campaign.sent': Campaign
}

/**
 * Records what happened, in the transaction of the change, with a delivery for each webhook that is enabled and wants
 * it at this instant. One statement; where nobody listens it writes the event and nothing else. The lock, which the
 * foreign key would take in any case, leaves out a webhook that is just being deleted, where the key would refuse it.
 */
export async function emit<Type extends keyof EventData>(ctx: Ctx, type: Type, data: EventData[Type]): Promise<void> {
  const workspaceId = sql`${uuidOf(ctx.workspaceId)}::uuid`
  const eventId = sql`${uuidOf(newId('evt'))}::uuid`
  await ctx.db.execute(sql`
    with event as (
      insert into events (workspace_id, id, type, data)
      values (${workspaceId}, ${eventId}, ${type}, ${JSON.stringify(data)}::json)),
    delivery as (
      insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
      select workspace_id, uuidv7(), id, ${eventId}, ${type}
      from webhooks
      where workspace_id = ${workspaceId} and enabled and event_types && array[${type}, '*']
      for key share
      returning id),
    ${enqueueEach(ctx, 'webhooks', 'delivery')}
    select from woken`)
}
