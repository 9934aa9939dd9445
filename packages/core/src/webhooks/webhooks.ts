import { randomBytes } from 'node:crypto'
import { and, eq } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import type { Ctx } from '../context.ts'
import { notFound } from '../errors.ts'
import { toTimestamp } from '../fields.ts'
import { newId } from '../ids.ts'
import { byCreation, type Page, readPage } from '../paging.ts'
import { webhooks } from '../schema.ts'
import { seal } from '../secrets.ts'
import { checkWebhookUrl } from './address-policy.ts'
import type { CreatedWebhook, Webhook, WebhookInput, WebhookQuery } from './webhooks.schema.ts'

type WebhookRow = typeof webhooks.$inferSelect

/** Creates a webhook, enabled. Its secret is in this answer and in no other; stored, it is encrypted. */
export async function createWebhook(ctx: Ctx, input: WebhookInput): Promise<CreatedWebhook> {
  const url = checkWebhookUrl(input.url, ctx.settings.allowedNetworks)
  const id = newId('whk')
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const encryptedSecret = seal(ctx.settings.keys, secret, id)
  const [row] = await ctx.db
    .insert(webhooks)
    .values({ workspaceId: ctx.workspaceId, id, url, eventTypes: input.eventTypes, encryptedSecret })
    .returning()
  if (!row) throw new Error('INSERT … RETURNING returned nothing')
  await audit(ctx, 'webhook.created', { subjectId: id, url })
  return { ...toWebhook(row), secret }
}

/** Reads one webhook. */
export async function readWebhook(ctx: Ctx, id: string): Promise<Webhook> {
  const [row] = await ctx.db
    .select()
    .from(webhooks)
    .where(and(eq(webhooks.workspaceId, ctx.workspaceId), eq(webhooks.id, id)))
  if (!row) throw notFound('Webhook')
  return toWebhook(row)
}

/** A page of the workspace's webhooks. */
export async function listWebhooks(ctx: Ctx, query: WebhookQuery): Promise<Page<Webhook>> {
  const page = await readPage<WebhookRow>(ctx, {
    name: 'webhooks',
    query,
    ...byCreation<WebhookRow>(webhooks),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(webhooks)
        .where(and(eq(webhooks.workspaceId, ctx.workspaceId), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toWebhook) }
}

function toWebhook(row: WebhookRow): Webhook {
  return {
    id: row.id,
    url: row.url,
    eventTypes: row.eventTypes as Webhook['eventTypes'],
    enabled: row.enabled,
    createdAt: toTimestamp(row.createdAt),
  }
}
