/** What people see of deliveries, and ask for: the log, tests, and redeliveries. */
import { and, eq, inArray, sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../request/context.ts'
import { conflict, invalidField, notFound } from '../kernel/errors.ts'
import { emitTo } from '../events/emit.ts'
import { toTimestamp, toTimestampOrNull } from '../kernel/validation.ts'
import { type DeliveryId, idOf, uuidOf, type WebhookId } from '../kernel/ids.ts'
import { enqueueMany, originOf } from '../jobs/outbox.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { deliveries } from '../db/schema/index.ts'
import type { Delivery, DeliveryQuery, RedeliverInput, RedeliverResult } from './deliveries.schema.ts'
import { readWebhook } from './webhooks.ts'
import { webhookTest } from './webhook-events.ts'

type DeliveryRow = typeof deliveries.$inferSelect

const mostAtOnce = 100_000
/** As a foreign key would: what is delivered again is not forgotten meanwhile, alone or with its partition. */
const keepingEvents = sql`for key share of e`

/** A page of a webhook's deliveries. */
export async function listDeliveries(ctx: Ctx, webhookId: WebhookId, query: DeliveryQuery): Promise<Page<Delivery>> {
  await readWebhook(ctx, webhookId)
  const { status, eventType } = query
  const statuses = status === 'PENDING' ? (['PENDING', 'SENDING'] as const) : status && ([status] as const)
  const page = await readPage<DeliveryRow>(ctx, {
    name: `deliveries ${webhookId} ${status ?? ''} ${eventType ?? ''}`,
    query,
    ...byCreation<DeliveryRow>(deliveries),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(deliveries)
        .where(
          and(
            isOf(ctx, webhookId),
            after,
            statuses && inArray(deliveries.status, [...statuses]),
            eventType && eq(deliveries.eventType, eventType),
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
    .where(and(isOf(ctx, webhookId), eq(deliveries.id, id)))
  if (!row) throw notFound('Delivery')
  return toDelivery(row)
}

/** Tells the webhook a `webhook.test` event about itself. A disabled webhook is a conflict. */
export function testWebhook(ctx: Ctx, id: WebhookId): Promise<Delivery> {
  return inTransaction(ctx, async (ctx) => {
    const data = await readEnabledWebhook(ctx, id)
    const eventId = await emitTo(ctx, webhookTest, { webhookId: id, data })
    const [row] = await ctx.db
      .select()
      .from(deliveries)
      .where(and(isOf(ctx, id), eq(deliveries.eventId, eventId)))
    // Deleted at this very moment.
    if (!row) throw notFound('Webhook')
    return toDelivery(row)
  })
}

/**
 * A person's wish, not a retry: a new delivery of the same event, so that the receiver sees the same `webhook-id`. One
 * that is still under way, a disabled webhook, or an event that is past its time and gone, is a conflict.
 */
export function redeliver(ctx: Ctx, webhookId: WebhookId, id: DeliveryId): Promise<Delivery> {
  return inTransaction(ctx, async (ctx) => {
    await readEnabledWebhook(ctx, webhookId)
    const { status } = await readDelivery(ctx, webhookId, id)
    if (status === 'PENDING') throw conflict('The delivery is still under way')
    const again = await ctx.db.execute<{ id: string }>(sql`
      with again as (
        insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
        select d.workspace_id, uuidv7(), d.webhook_id, d.event_id, d.event_type
        from deliveries d join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
        where d.workspace_id = ${uuidOf(ctx.workspaceId)} and d.webhook_id = ${uuidOf(webhookId)} and d.id = ${uuidOf(id)}
        ${keepingEvents}
        returning workspace_id, id, webhook_id as lane),
      ${enqueueMany('webhooks', 'again', originOf(ctx))}
      select id from again, notified`)
    const [newOne] = again.rows
    if (!newOne) throw conflict('The event is past its time')
    return readDelivery(ctx, webhookId, idOf('dlv', newOne.id))
  })
}

/**
 * The same for many: each event once whose deliveries match and of which none has succeeded since or is under way, so
 * that asking twice does not send twice. Answers how many; with `dryRun`, how many it would be.
 */
export function redeliverMany(ctx: Ctx, webhookId: WebhookId, input: RedeliverInput): Promise<RedeliverResult> {
  return inTransaction(ctx, async (ctx) => {
    await readEnabledWebhook(ctx, webhookId)
    // Two wishes at once would both find the same lacking. Not by a lock of the webhook's row: its claims take that.
    await ctx.db.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`redeliver ${webhookId}`}, 0))`)
    const isLacking = sql`not exists (
      select from deliveries later
      where later.workspace_id = d.workspace_id and later.event_id = d.event_id and later.webhook_id = d.webhook_id
        and later.id > d.id and later.status in ('PENDING', 'SENDING', 'SUCCEEDED'))`
    const isKept = sql`exists (select from events e where e.workspace_id = d.workspace_id and e.id = d.event_id)`
    const wanted = sql`
      select distinct d.workspace_id, d.webhook_id, d.event_id, d.event_type from deliveries d
      where d.workspace_id = ${uuidOf(ctx.workspaceId)} and d.webhook_id = ${uuidOf(webhookId)}
        and d.created_at >= ${input.since.toISOString()} and d.created_at < ${input.until.toISOString()}
        and d.status = ${input.status} and d.event_type = coalesce(${input.eventType ?? null}, d.event_type)
        and ${isLacking} and ${isKept}`
    const counted = await ctx.db.execute<{ queued: number }>(
      sql`select count(*)::int as queued from (${wanted} limit ${mostAtOnce + 1}) wanted`,
    )
    const queued = counted.rows[0]?.queued ?? 0
    if (queued > mostAtOnce) {
      throw invalidField('since', `since: more than ${mostAtOnce.toLocaleString('en')} match, choose a shorter time`)
    }
    if (input.dryRun || queued === 0) return { queued }
    const result = await ctx.db.execute<{ queued: number }>(sql`
      with again as (
        insert into deliveries (workspace_id, id, webhook_id, event_id, event_type)
        select e.workspace_id, uuidv7(), webhook_id, e.id, event_type
        from (${wanted} order by d.event_id) wanted join events e on e.workspace_id = wanted.workspace_id and e.id = event_id
        ${keepingEvents}
        returning workspace_id, id, webhook_id as lane),
      ${enqueueMany('webhooks', 'again', originOf(ctx))}
      select (select count(*)::int from enqueued) as queued from notified`)
    return { queued: result.rows[0]?.queued ?? 0 }
  })
}

async function readEnabledWebhook(ctx: Ctx, id: WebhookId) {
  const webhook = await readWebhook(ctx, id)
  if (!webhook.enabled) throw conflict('The webhook is disabled')
  return webhook
}

function isOf(ctx: Ctx, webhookId: WebhookId) {
  return and(eq(deliveries.workspaceId, ctx.workspaceId), eq(deliveries.webhookId, webhookId))
}

function toDelivery(row: DeliveryRow): Delivery {
  const { status, attemptedAt, createdAt } = row
  return {
    id: row.id,
    webhookId: row.webhookId,
    eventId: row.eventId,
    eventType: row.eventType,
    status: status === 'SENDING' ? 'PENDING' : status,
    attemptedAt: toTimestampOrNull(attemptedAt),
    durationMs: row.durationMs,
    responseStatus: row.responseStatus,
    responseBody: row.responseBody,
    error: row.error,
    createdAt: toTimestamp(createdAt),
  }
}
