import type { WebhookId } from '../../kernel/ids.ts'
import type { Ctx } from '../../request/context.ts'
import { insertWebhook, saveWebhook } from '../../webhooks/webhooks.ts'
import type { CreatedWebhook, Webhook, WebhookChange, WebhookInput } from '../../webhooks/webhooks.schema.ts'
import { checkFilter } from './check-filter.ts'

/** Creates a webhook, with a filter that its event types can match. See `insertWebhook`. */
export function createWebhook(
  ctx: Ctx,
  { filter = null, ...input }: Omit<WebhookInput, 'filter'> & Partial<WebhookInput>,
): Promise<CreatedWebhook> {
  return insertWebhook(ctx, { ...input, filter }, checkFilter)
}

/** Updates a webhook, whose filter its event types can match then. See `saveWebhook`. */
export function updateWebhook(ctx: Ctx, id: WebhookId, change: WebhookChange): Promise<Webhook> {
  return saveWebhook(ctx, id, { change, checkFilter })
}
