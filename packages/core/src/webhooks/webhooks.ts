import { and, arrayContains, eq, getTableColumns, isNull, type SQL, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { emit } from '../events/emit.ts'
import type { EventType } from '../events/event-definition.ts'
import { toJsonPath } from '../events/event-filter.ts'
import type { Db } from '../db/client.ts'
import { notFound } from '../kernel/errors.ts'
import { withoutUndefined } from '../kernel/without-undefined.ts'
import { newId, type WebhookId } from '../kernel/ids.ts'
import { lockActor } from '../request/lock-actor.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { webhookHealth, webhooks } from '../db/schema/index.ts'
import { seal } from '../kernel/crypto.ts'
import { requireQuota } from '../quotas/require-quota.ts'
import { checkWebhookUrl } from './address-policy.ts'
import { webhookDisabled } from './webhook-events.ts'
import { newSecret } from './signature.ts'
import {
  type HealthRow,
  healthColumns,
  isHealthOfWebhook,
  initialHealth,
  resetHealth,
  resetPause,
  toHealth,
} from './health/webhook-health.ts'
import type { CreatedWebhook, Webhook, WebhookChange, WebhookInput, WebhookQuery } from './webhooks.schema.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

type WebhookRow = typeof webhooks.$inferSelect

type WebhookWithHealth = WebhookRow & HealthRow

/** Throws `validation_error` if an event type of the webhook has no data that the filter can match. */
export type FilterCheck = (ctx: Ctx, webhook: Pick<WebhookRow, 'eventTypes' | 'filter'>) => Promise<void>

/**
 * Creates an enabled webhook. Only this result contains its secret in plain text; the database stores it encrypted.
 * Throws `quota_exceeded` if the workspace has the maximum number of webhooks.
 */
export function insertWebhook(ctx: Ctx, input: WebhookInput, checkFilter: FilterCheck): Promise<CreatedWebhook> {
  const url = checkWebhookUrl(input.url, ctx.settings.allowedNetworks)
  return inTransaction(ctx, async (ctx) => {
    await requireQuota(ctx, 'webhooks', { count: () => countWebhooks(ctx) })
    await lockActor(ctx)
    await checkFilter(ctx, input)
    const id = newId('whk')
    const secret = newSecret()
    const webhook: WebhookRow = {
      workspaceId: ctx.workspaceId,
      id,
      url,
      eventTypes: input.eventTypes,
      ...toFilterColumns(input.filter),
      enabled: true,
      disabledReason: null,
      encryptedSecret: seal(ctx.settings.keys, secret, id),
      formerSecrets: [],
      deletedAt: null,
      createdAt: timestampNow(),
    }
    await ctx.db.insert(webhooks).values(webhook)
    await audit(ctx, 'webhook.created', { subjectId: id, url })
    return { ...toWebhook({ ...webhook, ...initialHealth }), secret }
  })
}

export function countWebhooks(ctx: Ctx): Promise<number> {
  return ctx.db.$count(webhooks, isLiveInWorkspace(ctx))
}

/** Reads one webhook. */
export async function readWebhook(ctx: Ctx, id: WebhookId): Promise<Webhook> {
  const [row] = await selectWebhooks(ctx).where(isLiveWebhook(ctx, id))
  if (!row) throw notFound('Webhook')
  return toWebhook(row)
}

/** Lists a page of the workspace's webhooks. */
export async function listWebhooks(ctx: Ctx, query: WebhookQuery): Promise<Page<Webhook>> {
  const page = await readPage<WebhookWithHealth>(ctx, {
    name: 'webhooks',
    query,
    ...byCreation<WebhookWithHealth>(webhooks),
    read: ({ after, orderBy, limit }) =>
      selectWebhooks(ctx)
        .where(and(isLiveInWorkspace(ctx), isCreatedInRange(webhooks, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toWebhook) }
}

/**
 * Updates the given fields. PENDING deliveries are sent to a new `url`. If the webhook is disabled, they become FAILED
 * without an attempt, except those that a worker has already taken. A new `url` or `enabled: true` ends a pause.
 */
export async function saveWebhook(
  ctx: Ctx,
  id: WebhookId,
  { change, checkFilter }: { change: WebhookChange; checkFilter: FilterCheck },
): Promise<Webhook> {
  const url = change.url === undefined ? {} : { url: checkWebhookUrl(change.url, ctx.settings.allowedNetworks) }
  if (Object.keys(change).length === 0) return readWebhook(ctx, id)
  return inTransaction(ctx, async (ctx) => {
    await lockActor(ctx)
    if (change.enabled) await resetHealth(ctx, id)
    else if (change.url !== undefined) await resetPause(ctx, id)
    const { filter, ...values } = { ...change, ...url }
    const [current] = await ctx.db.select().from(webhooks).where(isLiveWebhook(ctx, id)).for('no key update')
    if (!current) throw notFound('Webhook')
    // A webhook with a filter that is no longer valid can still be disabled.
    if (filter || change.eventTypes || change.enabled)
      await checkFilter(ctx, { ...current, ...withoutUndefined({ filter, eventTypes: change.eventTypes }) })
    const [row = current] = await ctx.db
      .update(webhooks)
      .set({
        ...values,
        ...(filter !== undefined && toFilterColumns(filter)),
        ...(change.enabled && { disabledReason: null }),
      })
      .where(isLiveWebhook(ctx, id))
      .returning()
    await audit(ctx, 'webhook.changed', { subjectId: id, url: row.url, enabled: String(row.enabled) })
    return readWebhook(ctx, id)
  })
}

/** Disables all webhooks of the workspace. After the caller's commit, workers take no more of their deliveries. */
export async function disableWebhooks(ctx: Ctx): Promise<void> {
  await disableAll(ctx, undefined, null)
}

/** A field in the events of a type. */
interface EventField {
  eventType: EventType
  field: string
}

/** Locks the enabled webhooks that filter by a field, in the order in which a step of a drain locks them. */
export async function lockWebhooksByField(ctx: Ctx, field: EventField): Promise<void> {
  await lockAll(ctx, filtersBy(field))
}

/** Disables the enabled webhooks that filter by a field, with an event of each. */
export async function disableWebhooksByField(ctx: Ctx, field: EventField, disabledReason: string): Promise<void> {
  for (const id of await disableAll(ctx, filtersBy(field), disabledReason))
    await emit(ctx, webhookDisabled, await readWebhook(ctx, id))
}

const filtersBy = ({ eventType, field }: EventField) =>
  and(arrayContains(webhooks.eventTypes, [eventType]), sql`(${webhooks.filter} -> 'changed')::jsonb ? ${field}::text`)

async function disableAll(ctx: Ctx, where: SQL | undefined, disabledReason: string | null): Promise<WebhookId[]> {
  await lockAll(ctx, where)
  const disabled = await ctx.db
    .update(webhooks)
    .set({ enabled: false, disabledReason })
    .where(isEnabledAnd(ctx, where))
    .returning()
  const reason = disabledReason === null ? {} : { disabledReason }
  for (const { id, url } of disabled)
    await audit(ctx, 'webhook.changed', { subjectId: id, url, enabled: 'false', ...reason })
  return disabled.map(({ id }) => id)
}

async function lockAll(ctx: Ctx, where: SQL | undefined): Promise<void> {
  await ctx.db
    .select({ id: webhooks.id })
    .from(webhooks)
    .where(isEnabledAnd(ctx, where))
    .orderBy(webhooks.id)
    .for('no key update')
}

const isEnabledAnd = (ctx: Ctx, where: SQL | undefined) =>
  and(isLiveInWorkspace(ctx), eq(webhooks.enabled, true), where)

/**
 * Deletes a webhook with its deliveries. PENDING deliveries are not attempted, except those that a worker has already
 * taken. The webhook is hidden immediately; `purgeWebhooks` deletes the rows in small steps, because there may be many.
 */
export function deleteWebhook(ctx: Ctx, id: WebhookId): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const { rowCount } = await ctx.db
      .update(webhooks)
      .set({ enabled: false, deletedAt: sql`now()` })
      .where(isLiveWebhook(ctx, id))
    if (!rowCount) throw notFound('Webhook')
    await audit(ctx, 'webhook.deleted', { subjectId: id })
  })
}

/** Deletes up to 500 deliveries of deleted webhooks, or, if none is left, the webhooks. Returns the number of rows. */
export async function purgeWebhooks(db: Db): Promise<number> {
  const purged = await db.execute(sql`
    delete from deliveries where (workspace_id, webhook_id, id) in (
      select d.workspace_id, d.webhook_id, d.id from webhooks w
      join deliveries d on d.workspace_id = w.workspace_id and d.webhook_id = w.id
      where w.deleted_at < now() - interval '1 minute' and d.status <> 'PENDING' limit 500)`)
  if (purged.rowCount) return purged.rowCount
  const isEmpty = sql`w.deleted_at < now() - interval '1 minute' and not exists (
    select from deliveries d where d.workspace_id = w.workspace_id and d.webhook_id = w.id)`
  // A cascade would lock the webhook first: see the lock order in health/webhook-health.ts.
  await db.execute(sql`
    delete from webhook_health using webhooks w
    where webhook_health.workspace_id = w.workspace_id and webhook_health.webhook_id = w.id and ${isEmpty}`)
  const deletedWebhooks = await db.execute(sql`delete from webhooks w where ${isEmpty}`)
  return deletedWebhooks.rowCount ?? 0
}

function toFilterColumns(filter: WebhookRow['filter']): Pick<WebhookRow, 'filter' | 'filterPath'> {
  return { filter, filterPath: filter && toJsonPath(filter) }
}

function isLiveInWorkspace(ctx: Ctx) {
  return and(eq(webhooks.workspaceId, ctx.workspaceId), isNull(webhooks.deletedAt))
}

export function isLiveWebhook(ctx: Ctx, id: WebhookId) {
  return and(byId(webhooks, ctx, id), isNull(webhooks.deletedAt))
}

function selectWebhooks(ctx: Ctx) {
  return ctx.db
    .select({ ...getTableColumns(webhooks), ...healthColumns })
    .from(webhooks)
    .leftJoin(webhookHealth, isHealthOfWebhook)
}

function toWebhook(row: WebhookWithHealth): Webhook {
  return {
    id: row.id,
    url: row.url,
    eventTypes: row.eventTypes,
    filter: row.filter,
    enabled: row.enabled,
    disabledReason: row.disabledReason,
    ...toHealth(row),
    createdAt: row.createdAt,
  }
}
