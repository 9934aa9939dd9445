import { and, eq, type SQL, sql } from 'drizzle-orm'
import { lockName } from '../db/statements/advisory-locks.ts'
import { composedStatement } from '../db/statements/named-statement.ts'
import { int } from '../db/statements/sql-types.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { conflict, invalidField, notFound } from '../kernel/errors.ts'
import type { EventDefinition, EventSubject } from '../events/event-definition.ts'
import { emitTo } from '../events/emit.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'
import { type DeliveryId, timeOfUuid, uuidOf, type WebhookId } from '../kernel/ids.ts'
import { publishDrain } from '../work/publisher.ts'
import { type Page, readPage } from '../request/paging.ts'
import { isIdInRange } from '../request/time-range.ts'
import { deliveries } from '../db/schema/index.ts'
import type { Delivery, DeliveryQuery, RedeliverInput, RedeliverResult } from './deliveries.schema.ts'
import { resetPause } from './health/webhook-health.ts'
import { readWebhook } from './webhooks.ts'
import { webhookTest } from './webhook-events.ts'

type DeliveryRow = typeof deliveries.$inferSelect

const maxRedeliveries = 100_000
const dayMs = 86_400_000

/** Lists a page of a webhook's deliveries, in the order of their ids, which is the order of creation. */
export async function listDeliveries(ctx: Ctx, webhookId: WebhookId, query: DeliveryQuery): Promise<Page<Delivery>> {
  await readWebhook(ctx, webhookId)
  const { status, type } = query
  const page = await readPage<DeliveryRow>(ctx, {
    name: `deliveries ${webhookId} ${status ?? ''} ${type ?? ''}`,
    query,
    key: { column: deliveries.id, type: 'uuid', valueOf: (row) => uuidOf(row.id) },
    id: { column: deliveries.id, valueOf: (row) => row.id },
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(deliveries)
        .where(
          and(
            isOfWebhook(ctx, webhookId),
            after,
            // A literal, because the planner uses a partial index only if it knows the value.
            status && sql`${deliveries.status} = ${sql.raw(`'${status}'`)}`,
            type && eq(deliveries.eventType, type),
            isIdInRange(deliveries, query),
          ),
        )
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toDelivery) }
}

/** Reads one delivery of a webhook. */
export async function readDelivery(ctx: Ctx, webhookId: WebhookId, id: DeliveryId): Promise<Delivery> {
  await readWebhook(ctx, webhookId)
  const [row] = await ctx.db
    .select()
    .from(deliveries)
    .where(and(isOfWebhook(ctx, webhookId), eq(deliveries.id, id)))
  if (!row) throw notFound('Delivery')
  return toDelivery(row)
}

/**
 * Emits a `webhook.test` event to one webhook, or the example of another type. Throws `wrong_state` if the webhook is
 * disabled.
 */
export function testWebhook(
  ctx: Ctx,
  id: WebhookId,
  example: EventDefinition<EventSubject> = webhookTest,
): Promise<Delivery> {
  return inTransaction(ctx, async (ctx) => {
    const webhook = await readEnabledWebhook(ctx, id)
    const data = example.type === webhookTest.type ? webhook : (example.example as EventSubject)
    const deliveryId = await emitTo(ctx, example, { webhookId: id, data })
    // The webhook was deleted concurrently.
    if (!deliveryId) throw notFound('Webhook')
    await resetPause(ctx, id)
    return readDelivery(ctx, id, deliveryId)
  })
}

/**
 * Creates a new delivery of the same event, so that the receiver gets the same `webhook-id`. Throws `wrong_state` if
 * the delivery is PENDING, the webhook is disabled or the event has expired.
 */
export function redeliver(ctx: Ctx, webhookId: WebhookId, id: DeliveryId): Promise<Delivery> {
  return inTransaction(ctx, async (ctx) => {
    await readEnabledWebhook(ctx, webhookId)
    const { status, eventId } = await readDelivery(ctx, webhookId, id)
    if (status === 'PENDING') throw conflict('wrong_state', 'The delivery is still PENDING')
    const [redelivered] = await insertDeliveries(ctx, webhookId, sql`select ${uuidOf(eventId)}::uuid as event_id`)
    if (!redelivered) throw conflict('wrong_state', 'The event has expired')
    return readDelivery(ctx, webhookId, redelivered)
  })
}

/**
 * Redelivers each event that has a matching delivery. Skips an event if a later delivery has SUCCEEDED or is PENDING,
 * so that a repeated request does not send an event twice. Ends the pause of the webhook, also if no event matches.
 * Returns the number of events, also with `dryRun`.
 */
export function redeliverMany(ctx: Ctx, webhookId: WebhookId, input: RedeliverInput): Promise<RedeliverResult> {
  return inTransaction(ctx, async (ctx) => {
    await readEnabledWebhook(ctx, webhookId)
    // Concurrent requests would find the same events. An advisory lock, because workers lock the row of the webhook.
    await lockName(ctx.db, `redeliver ${webhookId}`)
    const { status, type, createdBefore } = input
    const createdAfter =
      input.createdAfter ?? timestampAt((createdBefore ? Date.parse(createdBefore) : Date.now()) - dayMs)
    // A literal, because the planner uses a partial index only if it knows the value.
    const statuses = sql.raw(status ? `('${status}')` : `('FAILED', 'INTERRUPTED')`)
    const isRequested = (delivery: SQL) =>
      and(sql`${delivery}.status in ${statuses}`, isIdInRange({ id: sql`${delivery}.id` }, { createdBefore }))
    // The last delivery of an event that was asked for. A later one is a redelivery.
    const eventsToRedeliver = sql`
      select d.event_id from deliveries d
      where d.workspace_id = ${uuidOf(ctx.workspaceId)} and d.webhook_id = ${uuidOf(webhookId)}
        and ${and(isRequested(sql`d`), isIdInRange({ id: sql`d.id` }, { createdAfter }), type && eq(sql`d.event_type`, type))}
        and not exists (
          select from deliveries later
          where later.workspace_id = d.workspace_id and later.webhook_id = d.webhook_id
            and later.event_id = d.event_id and later.is_redelivery and later.id > d.id
            and (later.status in ('PENDING', 'SUCCEEDED') or ${isRequested(sql`later`)}))`
    const [{ matching, queued } = { matching: 0, queued: 0 }] = await countEvents(
      ctx.db,
      sql`
        select count(*)::int as matching, count(e.id)::int as queued
        from (${eventsToRedeliver} limit ${maxRedeliveries + 1}) wanted
        left join events e on e.workspace_id = ${uuidOf(ctx.workspaceId)} and e.id = wanted.event_id`,
    )
    if (matching > maxRedeliveries) {
      throw invalidField(
        'createdAfter',
        `createdAfter: more than ${maxRedeliveries.toLocaleString('en')} events match; choose a shorter period`,
      )
    }
    if (input.dryRun) return { queued }
    return { queued: (await insertDeliveries(ctx, webhookId, eventsToRedeliver)).length }
  })
}

const countEvents = composedStatement('count events to redeliver', { columns: { matching: int, queued: int } })

/**
 * Inserts a PENDING delivery for each `event_id` of a query whose event exists, and ends the pause of the webhook.
 * Returns the ids. Locks the events like a foreign key does, so that their partition is not dropped concurrently.
 */
async function insertDeliveries(ctx: Ctx, webhookId: WebhookId, eventIds: SQL): Promise<DeliveryId[]> {
  const query = sql`
    insert into deliveries (workspace_id, id, webhook_id, event_id, event_type, is_redelivery, request_id, traceparent)
    select e.workspace_id, uuidv7(), ${uuidOf(webhookId)}, e.id, e.type, true, ${ctx.requestId}, ${ctx.traceparent ?? null}
    from (${eventIds} order by event_id) wanted
    join events e on e.workspace_id = ${uuidOf(ctx.workspaceId)} and e.id = wanted.event_id
    for key share of e
    returning id`
  const inserted = await insertSelected(ctx.db, query)
  await resetPause(ctx, webhookId)
  publishDrain(ctx.db, ctx.workspaceId)
  return inserted.map(({ id }) => id)
}

const insertSelected = composedStatement('redeliver events', { columns: { id: deliveries.id } })

async function readEnabledWebhook(ctx: Ctx, id: WebhookId) {
  const webhook = await readWebhook(ctx, id)
  if (!webhook.enabled) throw conflict('wrong_state', 'The webhook is disabled')
  return webhook
}

function isOfWebhook(ctx: Ctx, webhookId: WebhookId) {
  return and(eq(deliveries.workspaceId, ctx.workspaceId), eq(deliveries.webhookId, webhookId))
}

function toDelivery(row: DeliveryRow): Delivery {
  return {
    id: row.id,
    webhookId: row.webhookId,
    eventId: row.eventId,
    eventType: row.eventType,
    status: row.status,
    attemptedAt: row.attemptedAt,
    durationMs: row.durationMs,
    responseStatus: row.responseStatus,
    responseBody: row.responseBody,
    error: row.error,
    // From the id, because the list is in the order of the ids.
    createdAt: timestampAt(timeOfUuid(uuidOf(row.id))),
  }
}
