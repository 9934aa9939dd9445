/**
 * Hourly maintenance: warns about webhooks that have failed for a day, and disables those that have failed for five
 * days.
 */
import { emailAdmins } from '../../mail/email-admins.ts'
import { type BaseCtx, type Ctx, inTransaction } from '../../request/context.ts'
import {
  disableFailingWebhook,
  type FailingWebhook,
  findWebhooksToDisable,
  findWebhooksToWarn,
  markWarned,
} from '../../webhooks/health/failing-webhooks.ts'
import type { Webhook } from '../../webhooks/webhooks.schema.ts'

/**
 * Emails owners and admins about each webhook that has failed for a day, once per failing period. Uses one transaction
 * per webhook and yields after each commit, so that the caller can stop in between.
 */
export async function* warnAboutFailingWebhooks(base: BaseCtx): AsyncGenerator<FailingWebhook> {
  for (const webhook of await findWebhooksToWarn(base.db)) {
    const isWarned = await inTransaction(systemCtx(base, webhook), async (ctx) => {
      if (!(await markWarned(ctx, webhook.id))) return false
      await emailAdmins(ctx, 'WEBHOOK_FAILING', { webhookId: webhook.id })
      return true
    })
    if (isWarned) yield webhook
  }
}

/** Disables each webhook that has failed for five days, and emails owners and admins. Also yields after each commit. */
export async function* disableFailingWebhooks(
  base: BaseCtx,
): AsyncGenerator<Webhook & Pick<FailingWebhook, 'workspaceId'>> {
  for (const failing of await findWebhooksToDisable(base.db)) {
    const webhook = await inTransaction(systemCtx(base, failing), async (ctx) => {
      const disabled = await disableFailingWebhook(ctx, failing.id)
      if (disabled) await emailAdmins(ctx, 'WEBHOOK_DISABLED', { webhookId: failing.id })
      return disabled
    })
    if (webhook) yield { ...webhook, workspaceId: failing.workspaceId }
  }
}

function systemCtx(base: BaseCtx, { workspaceId }: FailingWebhook): Ctx {
  return { ...base, workspaceId, actor: { kind: 'system' } }
}
