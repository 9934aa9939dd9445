/**
 * Warns about webhooks that have failed for a day, and disables them after five days. Candidates in all workspaces are
 * found without locks. Each webhook is then changed in its own transaction, which locks the row and checks the
 * condition again, so that only one of two concurrent workers changes it.
 */
import { and, count, eq, gte, isNull, type SQL, sql } from 'drizzle-orm'
import { audit } from '../../audit/audit.ts'
import type { Db } from '../../db/client.ts'
import { webhookHealth, webhooks } from '../../db/schema/index.ts'
import { emit } from '../../events/emit.ts'
import type { WebhookId, WorkspaceId } from '../../kernel/ids.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { webhookDisabled } from '../webhook-events.ts'
import { healthById, healthColumns, isHealthOfWebhook, toHealth } from './webhook-health.ts'
import { isLiveWebhook, readWebhook } from '../webhooks.ts'
import type { Webhook } from '../webhooks.schema.ts'
import { timestampNow, type Timestamp } from '../../kernel/values/timestamps.ts'

export interface FailingWebhook {
  workspaceId: WorkspaceId
  id: WebhookId
}

/** Compares the first failure with the last failure, not with now: without recent attempts, the state is unknown. */
const isFailingForHours = (hours: number): SQL =>
  sql`${webhookHealth.lastFailureAt} - ${webhookHealth.failingSince} >= ${hours} * interval '1 hour'`

const shouldBeWarned = and(
  isFailingForHours(24),
  gte(webhookHealth.failureCount, 3),
  isNull(webhookHealth.warnedAt),
) as SQL

const shouldBeDisabled = and(isFailingForHours(5 * 24), gte(webhookHealth.failureCount, 10)) as SQL

/** Finds webhooks to warn owners and admins about: failing for a day, with at least three failures. */
export const findWebhooksToWarn = (db: Db) => findEnabled(db, shouldBeWarned)

/** Finds webhooks to disable: failing for five days, with at least ten failures. */
export const findWebhooksToDisable = (db: Db) => findEnabled(db, shouldBeDisabled)

/** Counts the enabled webhooks, in all workspaces, that have been failing for an hour or longer. */
export async function countFailingWebhooks(db: Db): Promise<number> {
  const [row] = await db
    .select({ count: sql<number>`count(*)::int` })
    .from(webhookHealth)
    .innerJoin(webhooks, isHealthOfWebhook)
    .where(isFailing)
  return row?.count ?? 0
}

/** What an operator needs to know about a failing webhook. */
export interface FailingWebhookState {
  workspaceId: WorkspaceId
  webhookId: WebhookId
  /** The URL of the receiver without user, path and query, which may contain secrets. */
  origin: string
  failingSince: string
  /** The failed attempts since then. */
  failureCount: number
  lastFailureAt: string
  /** Why the last attempt failed or was not made; null if its delivery is deleted already. */
  lastError: string | null
  /** Null if the webhook is not paused. */
  pausedUntil: string | null
}

/** Counts what `countFailingWebhooks` counts, for each workspace that has some. */
export async function countFailingByWorkspace(db: Db): Promise<{ workspaceId: WorkspaceId; count: number }[]> {
  return await db
    .select({ workspaceId: webhooks.workspaceId, count: count() })
    .from(webhookHealth)
    .innerJoin(webhooks, isHealthOfWebhook)
    .where(isFailing)
    .groupBy(webhooks.workspaceId)
}

/** Lists the webhooks that `countFailingWebhooks` counts, of one workspace or of all. Longest failing first. */
export async function listFailingWebhooks(
  db: Db,
  { workspaceId }: { workspaceId?: WorkspaceId | undefined } = {},
): Promise<FailingWebhookState[]> {
  const rows = await db
    .select({
      workspaceId: webhooks.workspaceId,
      webhookId: webhooks.id,
      url: webhooks.url,
      failureCount: webhookHealth.failureCount,
      lastError,
      ...healthColumns,
    })
    .from(webhookHealth)
    .innerJoin(webhooks, isHealthOfWebhook)
    .where(and(isFailing, workspaceId && eq(webhooks.workspaceId, workspaceId)))
    .orderBy(webhookHealth.failingSince, webhooks.workspaceId, webhooks.id)
  return rows.map(({ workspaceId, webhookId, url, failureCount, lastError, ...health }) => {
    const { failingSince, lastFailureAt, pausedUntil } = toHealth(health)
    return {
      workspaceId,
      webhookId,
      origin: new URL(url).origin,
      failingSince: failingSince ?? '',
      failureCount,
      lastFailureAt: lastFailureAt ?? '',
      lastError,
      pausedUntil,
    }
  })
}

/** The oldest PENDING delivery has an error if it could not be signed. */
const lastError = sql<string | null>`coalesce((
  select d.error from deliveries d
  where d.workspace_id = ${webhooks.workspaceId} and d.webhook_id = ${webhooks.id} and d.status = 'PENDING'
  order by d.created_at, d.id limit 1), (
  select coalesce(d.error, 'HTTP ' || d.response_status) from deliveries d
  where d.workspace_id = ${webhooks.workspaceId} and d.webhook_id = ${webhooks.id}
    and d.status in ('FAILED', 'INTERRUPTED')
  order by d.id desc limit 1))`

/** Records the warning in the caller's transaction, once per failing period. Returns false if it is no longer due. */
export async function markWarned(ctx: Ctx, id: WebhookId): Promise<boolean> {
  const { rowCount } = await ctx.db
    .update(webhookHealth)
    .set({ warnedAt: timestampNow() })
    .where(and(healthById(ctx, id), shouldBeWarned))
  return rowCount === 1
}

/** Disables a webhook, with an event and an audit entry. Returns undefined if it is no longer failing or enabled. */
export function disableFailingWebhook(ctx: Ctx, id: WebhookId): Promise<Webhook | undefined> {
  return inTransaction(ctx, async (ctx) => {
    const [health] = await ctx.db
      .select({ failingSince: webhookHealth.failingSince, failureCount: webhookHealth.failureCount })
      .from(webhookHealth)
      .where(and(healthById(ctx, id), shouldBeDisabled))
      .for('no key update')
    if (!health?.failingSince) return undefined
    const disabledReason = `All ${health.failureCount} attempts since ${formatToSeconds(health.failingSince)} failed`
    const { rowCount } = await ctx.db
      .update(webhooks)
      .set({ enabled: false, disabledReason })
      .where(and(isLiveWebhook(ctx, id), isEnabled))
    if (!rowCount) return undefined
    const webhook = await readWebhook(ctx, id)
    await audit(ctx, 'webhook.changed', { subjectId: id, url: webhook.url, enabled: 'false', disabledReason })
    await emit(ctx, webhookDisabled, webhook)
    return webhook
  })
}

/** Formats as `2026-11-18T06:00:00Z`. */
export const formatToSeconds = (moment: Timestamp) => moment.replace(/\.\d+Z$/, 'Z')

const isEnabled = and(eq(webhooks.enabled, true), isNull(webhooks.deletedAt))

/** For an hour or longer. Without an attempt in the last day, it is unknown whether the webhook still fails. */
const isFailing = and(isFailingForHours(1), gte(webhookHealth.lastFailureAt, sql`now() - interval '1 day'`), isEnabled)

function findEnabled(db: Db, condition: SQL): Promise<FailingWebhook[]> {
  return db
    .select({ workspaceId: webhooks.workspaceId, id: webhooks.id })
    .from(webhookHealth)
    .innerJoin(webhooks, isHealthOfWebhook)
    .where(and(condition, isEnabled))
    .orderBy(webhookHealth.failingSince, webhooks.workspaceId, webhooks.id)
}
