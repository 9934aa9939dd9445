import { getTableColumns } from 'drizzle-orm'
import { recordSubscriptionActivity } from './subscribed-status.ts'
import type { Ctx } from '../request/context.ts'
import type { EventDefinition } from '../events/event-definition.ts'
import { emit } from '../events/emit.ts'
import { toTimestamp, toTimestampOrNull } from '../kernel/validation.ts'
import { subscriptions } from '../db/schema/index.ts'
import type { Subscription } from './subscriptions.schema.ts'

const {
  workspaceId: _,
  confirmationsRequestedAt: __,
  consent: ___,
  replacedStatus: ____,
  ...columns
} = getTableColumns(subscriptions)
export const subscriptionColumns = columns
export type SubscriptionRow = Pick<typeof subscriptions.$inferSelect, keyof typeof columns>

/** Updates the contact of a changed subscription and emits the events, in the transaction of the change. */
export async function recordSubscriptionChange(
  ctx: Ctx,
  row: SubscriptionRow,
  events: EventDefinition<Subscription>[],
): Promise<void> {
  await recordSubscriptionActivity(ctx, [row.contactId])
  for (const definition of events) await emit(ctx, definition, toSubscription(row))
}

export function toSubscription(row: SubscriptionRow): Subscription {
  return {
    contactId: row.contactId,
    listId: row.listId,
    status: row.status,
    source: row.source,
    confirmedAt: toTimestampOrNull(row.confirmedAt),
    unsubscribedAt: toTimestampOrNull(row.unsubscribedAt),
    createdAt: toTimestamp(row.createdAt),
  }
}
