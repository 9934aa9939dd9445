import { sql } from 'drizzle-orm'
import type { Campaign } from './campaigns/campaigns.schema.ts'
import type { Contact } from './contacts/contacts.schema.ts'
import type { Ctx } from './context.ts'
import type { Deal, MovedDeal } from './deals/deals.schema.ts'
import type { Import } from './imports/imports.schema.ts'
import type { Submission } from './forms/forms.schema.ts'
import { newId, uuidOf } from './ids.ts'
import type { Subscription } from './lists/lists.schema.ts'
import { enqueueEach } from './outbox.ts'
import type { Task } from './tasks/tasks.schema.ts'

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
  'contact.deleted': Contact
  'contact.merged': Contact & { mergedContactId: string }
  'form.submitted': Submission
  'subscription.created': Subscription
  'subscription.confirmed': Subscription
  'subscription.unsubscribed': Subscription
  'deal.created': Deal
  'deal.updated': Deal
  'deal.stage_changed': MovedDeal
  'deal.won': Deal
  'deal.lost': Deal
  'deal.deleted': Deal
  'task.created': Task
  'task.completed': Task
  'task.deleted': Task
  'campaign.sending': Campaign
  'campaign.sent': Campaign
  'import.completed': Import
}

/** Whose activity an event is, if a person's. */
function contactOf(type: string, data: { id?: string; contactId?: string | null }): string | null {
  const id = type.startsWith('contact.') ? data.id : data.contactId
  return id ? uuidOf(id) : null
}

/**
 * Records what happened, in the transaction of the change, with a delivery for each webhook that is enabled and wants
 * it at this instant. One statement; where nobody listens it writes the event and nothing else. The lock, which the
 * foreign key would take in any case, leaves out a webhook that is just being deleted, where the key would refuse it.
 */
export function emit<Type extends keyof EventData>(ctx: Ctx, type: Type, data: EventData[Type]): Promise<void> {
  return emitMany(ctx, type, [data])
}

/** The same for many at once, told in their order: still one statement. */
export async function emitMany<Type extends keyof EventData>(
  ctx: Ctx,
  type: Type,
  records: readonly EventData[Type][],
): Promise<void> {
  if (records.length === 0) return
  const workspaceId = sql`${uuidOf(ctx.workspaceId)}::uuid`
  await ctx.db.execute(sql`
    with told as (
      select * from unnest(
        ${sql.param(records.map(() => uuidOf(newId('evt'))))}::uuid[],
        ${sql.param(records.map((data) => JSON.stringify(data)))}::text[],
        ${sql.param(records.map((data) => contactOf(type, data)))}::uuid[]) as told (id, data, contact_id)),
    event as (
      insert into events (workspace_id, id, type, data, contact_id)
      select ${workspaceId}, id, ${type}, data::json, contact_id from told),
    delivery as (
      insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
      select w.workspace_id, uuidv7(), w.id, told.id, ${type}
      from told cross join webhooks w
      where w.workspace_id = ${workspaceId} and w.enabled and w.event_types && array[${type}, '*']
      -- A webhook that is just being deleted is left out, where the foreign key would refuse it.
      for key share of w
      returning id),
    ${enqueueEach(ctx, 'webhooks', 'delivery')}
    select from woken`)
}
