import { sql } from 'drizzle-orm'
import { namedStatement } from '../db/statements/named-statement.ts'
import { deliveries, events } from '../db/schema/index.ts'
import { arrayOf, bool, int, required, text, uuid } from '../db/statements/sql-types.ts'
import type { EmittedType } from '../events/event-definition.ts'
import { findErasedEvents } from '../events/redact-events.ts'
import { redactedText, type StepResult } from '../kernel/erase-step.ts'
import { type ContactId, nilUuid, timeOfUuid, uuidAt, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { drainId } from '../work/queues.ts'
import { lockDrain } from './drain/drain-claim.ts'

const batchSize = 20_000
/** The clocks of servers differ. */
const toleranceMs = 60_000
const deleted: EmittedType = 'contact.deleted'

/**
 * Redacts what receivers responded to the events of a deleted contact and of its deals: a receiver may echo the request.
 * Reads the deliveries of the workspace since the first such event, by webhook and id, because they have no index by
 * event. Waits for requests that are in flight, because their outcome is recorded later; `contact.deleted` has only an id.
 */
export async function redactDeliveries(ctx: Ctx, contactIds: readonly ContactId[], after: string): Promise<StepResult> {
  if (after === '') {
    // Waits for a take that runs: it may have read an event before it was redacted. Then `in_flight` has the delivery.
    await lockDrain(ctx.db, ctx.workspaceId, async () => {})
    return { after: `${nilUuid} ${nilUuid}` }
  }
  const { firstId, dealIds } = await findErasedEvents(ctx, contactIds)
  if (firstId === null) return {}
  // An event of a deal may be older than all events of the contact, but not older than the deal.
  const firstMs = Math.min(...[firstId, ...dealIds.map(uuidOf)].map(timeOfUuid))
  const [webhookId = nilUuid, id = nilUuid] = after.split(' ')
  const [last] = await redactPassed(ctx.db, {
    workspaceId: ctx.workspaceId,
    contactIds,
    dealIds,
    startId: uuidAt(Math.max(0, firstMs - toleranceMs)),
    webhookId,
    id,
  })
  if (!last) return {}
  if (last.isInFlight) return { shouldRetry: true, after }
  return { after: last.count < batchSize ? undefined : `${last.webhookId} ${last.id}` }
}

/** Compares rows, not ids, to prevent partition pruning: see `take-deliveries.ts`. */
const redactPassed = namedStatement('redact deliveries', {
  params: {
    workspaceId: deliveries.workspaceId,
    contactIds: arrayOf(required(events.contactId)),
    dealIds: arrayOf(text),
    startId: uuid,
    webhookId: uuid,
    id: uuid,
  },
  columns: { webhookId: uuid, id: uuid, count: int, isInFlight: bool },
  sql: ({ workspaceId, contactIds, dealIds, startId, webhookId, id }) => sql`
    with passed as materialized (
      select passed.* from webhooks w cross join lateral (
        select webhook_id, id, event_id, event_type, status from deliveries
        where workspace_id = ${workspaceId} and webhook_id = w.id
          and (webhook_id, id) > (w.id, case when w.id = ${webhookId} then greatest(${id}, ${startId}) else ${startId} end)
        order by id limit ${batchSize}) passed
      where w.workspace_id = ${workspaceId} and w.id >= ${webhookId}
      order by w.id, passed.id limit ${batchSize}),
    own as materialized (
      select * from passed where event_id in (
        select id from events where workspace_id = ${workspaceId} and contact_id = any(${contactIds}))
      union all
      select passed.* from passed join events e on e.workspace_id = ${workspaceId} and e.id = passed.event_id
      where passed.event_type like 'deal.%' and e.data ->> 'id' = any(${dealIds}) and e.data ->> 'redacted' is not null),
    redacted as (
      update deliveries d
      set response_body = null, error = case when d.error is not null then ${redactedText} end
      where d.workspace_id = ${workspaceId} and d.webhook_id = any(array(select webhook_id from own))
        and d.id = any(array(select id from own)) and (d.response_body is not null or d.error is not null))
    select webhook_id, id, count(*) over ()::int as count, exists (
      select from own join work on work.workspace_id = ${workspaceId} and work.id = ${drainId}::uuid
      where own.event_type <> ${deleted} and own.status = 'PENDING' and own.id = any(in_flight)) as is_in_flight
    from passed order by passed.webhook_id desc, passed.id desc limit 1`,
})
