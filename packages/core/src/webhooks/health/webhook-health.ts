/**
 * The health of a webhook is stored in its row of `webhook_health`. A worker updates that row together with the
 * outcomes of deliveries. Lock order: first the row of `webhook_health`, then the row of `webhooks`. Every transaction
 * that locks both must use this order, otherwise it can deadlock with a worker.
 */
import { and, eq } from 'drizzle-orm'
import { webhookHealth, webhooks } from '../../db/schema/index.ts'
import type { WebhookId } from '../../kernel/ids.ts'
import { lockById } from '../../request/by-id.ts'
import type { Ctx } from '../../request/context.ts'
import { lockActor } from '../../request/lock-actor.ts'
import type { Webhook } from '../webhooks.schema.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'

/** Columns for a query of `webhooks` with a left join of `webhook_health` on `isHealthOfWebhook`. */
export const healthColumns = {
  lastSuccessAt: webhookHealth.lastSuccessAt,
  lastFailureAt: webhookHealth.lastFailureAt,
  failingSince: webhookHealth.failingSince,
  pausedUntil: webhookHealth.pausedUntil,
}
export type HealthRow = Pick<typeof webhookHealth.$inferSelect, keyof typeof healthColumns>

export const isHealthOfWebhook = and(
  eq(webhookHealth.workspaceId, webhooks.workspaceId),
  eq(webhookHealth.webhookId, webhooks.id),
)

/** The health of a webhook before its first attempt. */
export const initialHealth: HealthRow = {
  lastSuccessAt: null,
  lastFailureAt: null,
  failingSince: null,
  pausedUntil: null,
}

export function toHealth(row: HealthRow): Pick<Webhook, keyof HealthRow> {
  const isPaused = row.pausedUntil !== null && row.pausedUntil > timestampNow()
  return {
    lastSuccessAt: row.lastSuccessAt,
    lastFailureAt: row.lastFailureAt,
    failingSince: row.failingSince,
    pausedUntil: isPaused ? row.pausedUntil : null,
  }
}

/** Ends the pause of a webhook. In a transaction, call it before locking the row of `webhooks`. */
export async function resetPause(ctx: Ctx, id: WebhookId): Promise<void> {
  await ctx.db.update(webhookHealth).set(noPause).where(healthById(ctx, id))
}

/** Ends the pause and the failing period. Without this, a webhook that is enabled again is soon disabled again. */
export async function resetHealth(ctx: Ctx, id: WebhookId): Promise<void> {
  await ctx.db
    .update(webhookHealth)
    .set({ ...noPause, failingSince: null, failureCount: 0, warnedAt: null })
    .where(healthById(ctx, id))
}

const noPause = { pausedUntil: null, unreachableCount: 0 }

/** Locks the rights of the actor, then a webhook with its health, until the transaction ends, in this order. */
export async function lockWebhook(ctx: Ctx, id: WebhookId): Promise<void> {
  await lockActor(ctx)
  await ctx.db
    .select({ id: webhookHealth.webhookId })
    .from(webhookHealth)
    .where(healthById(ctx, id))
    .for('no key update')
  await lockById(webhooks, ctx, id)
}

export function healthById(ctx: Ctx, id: WebhookId) {
  return and(eq(webhookHealth.workspaceId, ctx.workspaceId), eq(webhookHealth.webhookId, id))
}
