/**
 * Webhooks all of whose attempts have failed for long. Candidates of all workspaces are found without locks. Each is then
 * changed in a transaction of its own, by a statement of its workspace that checks the condition again under the lock of
 * its row: of two workers, one does it.
 */
import { and, eq, gte, isNull, lte, type SQL, sql } from 'drizzle-orm'
import { audit } from '../../audit/audit.ts'
import type { Db } from '../../db/client.ts'
import { webhookDrains, webhooks } from '../../db/schema/index.ts'
import { emit } from '../../events/emit.ts'
import type { WebhookId, WorkspaceId } from '../../kernel/ids.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { webhookDisabled } from '../webhook-events.ts'
import { drainById, isDrainOfWebhook } from './webhook-health.ts'
import { isLiveWebhook, readWebhook } from '../webhooks.ts'
import type { Webhook } from '../webhooks.schema.ts'

export interface FailingWebhook {
  workspaceId: WorkspaceId
  id: WebhookId
}

/** By the time between the first and the last failure: a burst of failures and silence since prove nothing. */
const isFailingForHours = (hours: number): SQL =>
  lte(webhookDrains.failingSince, sql`${webhookDrains.lastFailureAt} - ${hours} * interval '1 hour'`)

const shouldBeWarned = and(
  isFailingForHours(24),
  gte(webhookDrains.failureCount, 3),
  isNull(webhookDrains.warnedAt),
) as SQL

const shouldBeDisabled = and(isFailingForHours(5 * 24), gte(webhookDrains.failureCount, 10)) as SQL

/** Webhooks whose owners and admins should get a warning: a day of failures, at least three. */
export const findWebhooksToWarn = (db: Db) => findEnabled(db, shouldBeWarned)

/** Webhooks that should be disabled: five days of failures, at least ten. */
export const findWebhooksToDisable = (db: Db) => findEnabled(db, shouldBeDisabled)

/** The number of enabled webhooks, in all workspaces, all of whose attempts have failed for an hour or longer. */
export async function countFailingWebhooks(db: Db): Promise<number> {
  const [row] = await db
    .select({ count: sql<number>`count(*)::int` })
    .from(webhookDrains)
    .innerJoin(webhooks, isDrainOfWebhook)
    .where(and(isFailingForHours(1), isEnabled))
  return row?.count ?? 0
}

/** Records, in the caller's transaction, that the warning is on its way: once in a failing period. False: not due any more. */
export async function markWarned(ctx: Ctx, id: WebhookId): Promise<boolean> {
  const { rowCount } = await ctx.db
    .update(webhookDrains)
    .set({ warnedAt: new Date() })
    .where(and(drainById(ctx, id), shouldBeWarned))
  return rowCount === 1
}

/** Disables a webhook that fails, with an event and an audit entry. Undefined: it is not failing or enabled any more. */
export function disableFailingWebhook(ctx: Ctx, id: WebhookId): Promise<Webhook | undefined> {
  return inTransaction(ctx, async (ctx) => {
    const [drain] = await ctx.db
      .select({ failingSince: webhookDrains.failingSince, failureCount: webhookDrains.failureCount })
      .from(webhookDrains)
      .where(and(drainById(ctx, id), shouldBeDisabled))
      .for('no key update')
    if (!drain?.failingSince) return undefined
    const disabledReason = `All ${drain.failureCount} attempts since ${formatToSeconds(drain.failingSince)} failed`
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

/** `2026-11-18T06:00:00Z` */
export const formatToSeconds = (date: Date) => date.toISOString().replace(/\.\d+Z$/, 'Z')

const isEnabled = and(eq(webhooks.enabled, true), isNull(webhooks.deletedAt))

function findEnabled(db: Db, condition: SQL): Promise<FailingWebhook[]> {
  return db
    .select({ workspaceId: webhooks.workspaceId, id: webhooks.id })
    .from(webhookDrains)
    .innerJoin(webhooks, isDrainOfWebhook)
    .where(and(condition, isEnabled))
    .orderBy(webhookDrains.failingSince, webhooks.workspaceId, webhooks.id)
}
