/**
 * The health of a webhook stands on its row of `webhook_drains`, which the worker writes with the outcomes of each batch.
 * Lock order: the worker locks that row first and the row of `webhooks` second. A transaction that writes both does the
 * same, as the two could deadlock otherwise.
 */
import { and, eq } from 'drizzle-orm'
import { webhookDrains, webhooks } from '../../db/schema/index.ts'
import type { WebhookId } from '../../kernel/ids.ts'
import { toTimestampOrNull } from '../../kernel/validation.ts'
import type { Ctx } from '../../request/context.ts'
import type { Webhook } from '../webhooks.schema.ts'

/** For a query of `webhooks` with a left join of `webhook_drains` on `isDrainOfWebhook`. */
export const healthColumns = {
  lastSuccessAt: webhookDrains.lastSuccessAt,
  lastFailureAt: webhookDrains.lastFailureAt,
  failingSince: webhookDrains.failingSince,
  pausedUntil: webhookDrains.pausedUntil,
}
export type HealthRow = Pick<typeof webhookDrains.$inferSelect, keyof typeof healthColumns>

export const isDrainOfWebhook = and(
  eq(webhookDrains.workspaceId, webhooks.workspaceId),
  eq(webhookDrains.webhookId, webhooks.id),
)

/** The health of a webhook without any attempt. */
export const initialHealth: HealthRow = {
  lastSuccessAt: null,
  lastFailureAt: null,
  failingSince: null,
  pausedUntil: null,
}

export function toHealth(row: HealthRow): Pick<Webhook, keyof HealthRow> {
  const isPaused = row.pausedUntil !== null && row.pausedUntil.getTime() > Date.now()
  return {
    lastSuccessAt: toTimestampOrNull(row.lastSuccessAt),
    lastFailureAt: toTimestampOrNull(row.lastFailureAt),
    failingSince: toTimestampOrNull(row.failingSince),
    pausedUntil: toTimestampOrNull(isPaused ? row.pausedUntil : null),
  }
}

/** Ends the pause of a webhook. In a transaction it comes before any lock of the webhook's own row. */
export async function resetPause(ctx: Ctx, id: WebhookId): Promise<void> {
  await ctx.db.update(webhookDrains).set(noPause).where(drainById(ctx, id))
}

/** Ends the pause and the failing period of a webhook that is enabled: otherwise it would be disabled again at once. */
export async function resetHealth(ctx: Ctx, id: WebhookId): Promise<void> {
  await ctx.db
    .update(webhookDrains)
    .set({ ...noPause, failingSince: null, failureCount: 0, warnedAt: null })
    .where(drainById(ctx, id))
}

const noPause = { pausedUntil: null, unreachableCount: 0 }

export function drainById(ctx: Ctx, id: WebhookId) {
  return and(eq(webhookDrains.workspaceId, ctx.workspaceId), eq(webhookDrains.webhookId, id))
}
