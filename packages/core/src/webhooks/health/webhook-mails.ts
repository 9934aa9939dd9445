import { english } from '../../kernel/values/languages.ts'
import { webhookHealth, webhooks } from '../../db/schema/index.ts'
import type { Mail } from '../../mail/mails.ts'
import type { OutgoingMail } from '../../mail/outgoing-mail.ts'
import { renderServiceMail } from '../../mail/service-mail.ts'
import type { Ctx } from '../../request/context.ts'
import { formatToSeconds } from './failing-webhooks.ts'
import { isHealthOfWebhook } from './webhook-health.ts'
import { isLiveWebhook } from '../webhooks.ts'

/**
 * Renders the warning. Returns undefined if the webhook has since succeeded, was disabled or deleted, or if deliveries
 * could not be signed, so that its failures no longer count.
 */
export async function renderWebhookFailingMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const webhook = await readWebhookOfMail(ctx, mail)
  if (!webhook?.enabled || !webhook.failingSince || webhook.failureCount === 0) return undefined
  const { id, url, failureCount } = webhook
  const since = formatToSeconds(webhook.failingSince)
  return renderServiceMail(ctx, mail, {
    language: english,
    title: `A webhook has been failing since ${since}`,
    paragraphs: [
      `The webhook ${id} sends events to ${url}. All ${failureCount} attempts since ${since} failed.`,
      `To see why, list the failed deliveries: GET /webhooks/${id}/deliveries?status=FAILED. When the receiver works again, send these events again with POST /webhooks/${id}/redeliver.`,
      'If at least ten attempts fail over five days and none succeeds, the webhook is disabled automatically.',
    ],
    button: referenceButton(ctx),
    small: forAdmins,
  })
}

/** Renders the notice. Returns undefined if the webhook has since been enabled or deleted. */
export async function renderWebhookDisabledMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const webhook = await readWebhookOfMail(ctx, mail)
  if (!webhook || webhook.enabled || !webhook.disabledReason) return undefined
  const { id, url, disabledReason } = webhook
  return renderServiceMail(ctx, mail, {
    language: english,
    title: 'A webhook was disabled',
    paragraphs: [
      `The webhook ${id} to ${url} was disabled. ${disabledReason}.`,
      `To see why, list the failed deliveries: GET /webhooks/${id}/deliveries?status=FAILED.`,
      `When the receiver works again, enable the webhook with PATCH /webhooks/${id} and the body { "enabled": true }, then send the failed deliveries again with POST /webhooks/${id}/redeliver. Events since the webhook was disabled were not delivered: read them with GET /events.`,
    ],
    button: referenceButton(ctx),
    small: forAdmins,
  })
}

const forAdmins = 'Owners and admins of the workspace receive this email.'

const referenceButton = (ctx: Ctx) => ({ label: 'Open the API reference', url: `${ctx.settings.publicUrl}/docs` })

async function readWebhookOfMail(ctx: Ctx, { data }: Mail) {
  if (!data.webhookId) return undefined
  const [row] = await ctx.db
    .select({
      id: webhooks.id,
      url: webhooks.url,
      enabled: webhooks.enabled,
      disabledReason: webhooks.disabledReason,
      failingSince: webhookHealth.failingSince,
      failureCount: webhookHealth.failureCount,
    })
    .from(webhooks)
    .innerJoin(webhookHealth, isHealthOfWebhook)
    .where(isLiveWebhook(ctx, data.webhookId))
  return row
}
