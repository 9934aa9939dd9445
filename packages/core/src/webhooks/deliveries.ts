/** The worker's side of a webhook: one claim, one attempt, one outcome. */
import { createHmac } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../context.ts'
import { idOf, uuidOf } from '../ids.ts'
import { finishWork } from '../outbox.ts'
import { unseal } from '../secrets.ts'

export interface ClaimedDelivery {
  uuid: string
  url: string
  /** For `signatureHeaders`, and sealed until then. */
  sealedSecret: string
  webhookId: string
  eventId: string
  /** The exact text to sign and to send. */
  body: string
}

/**
 * Takes a delivery in hand: the one statement that lets it be attempted, ever. Undefined when it is in other hands or
 * over; one whose webhook was disabled meanwhile is FAILED without an attempt.
 */
export async function claimDelivery(ctx: Ctx, uuid: string, workerId: string): Promise<ClaimedDelivery | undefined> {
  const result = await ctx.db.execute<Record<string, string>>(sql`
    update deliveries d
    set status = 'SENDING', worker_id = ${workerId}, attempted_at = now()
    from webhooks w, events e
    where d.workspace_id = ${uuidOf(ctx.workspaceId)} and d.id = ${uuid} and d.status = 'PENDING'
      and w.workspace_id = d.workspace_id and w.id = d.webhook_id and w.enabled
      and e.workspace_id = d.workspace_id and e.id = d.event_id
    returning w.id as webhook, w.url, w.encrypted_secret, e.id as event, e.type, e.data::text, e.created_at`)
  const row = result.rows[0]
  if (!row) {
    await abandonDelivery(ctx, uuid)
    return undefined
  }
  const eventId = idOf('evt', String(row['event']))
  const head = { id: eventId, type: row['type'], timestamp: new Date(String(row['created_at'])).toISOString() }
  return {
    uuid,
    url: String(row['url']),
    sealedSecret: String(row['encrypted_secret']),
    webhookId: idOf('whk', String(row['webhook'])),
    eventId,
    body: `${JSON.stringify(head).slice(0, -1)},"data":${row['data']}}`,
  }
}

/** Headers of Standard Webhooks 1.0 for this very body: HMAC-SHA256 over `id.timestamp.body`. */
export function signatureHeaders(ctx: Ctx, delivery: ClaimedDelivery, now = new Date()): Record<string, string> {
  const timestamp = Math.floor(now.getTime() / 1000)
  const secret = unseal(ctx.settings.keys, delivery.sealedSecret, delivery.webhookId)
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key)
    .update(`${delivery.eventId}.${timestamp}.${delivery.body}`)
    .digest('base64')
  return {
    'webhook-id': delivery.eventId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': `v1,${signature}`,
  }
}

export interface DeliveryOutcome {
  status: 'SUCCEEDED' | 'FAILED'
  durationMs: number
  responseStatus: number | null
  responseBody: string | null
  error: string | null
}

/**
 * Records how the attempt ended. A late truth corrects a premature INTERRUPTED, but only that of the same worker. The
 * delivery's row is locked first, in the order of whoever buries dead workers at that moment.
 */
export async function settleDelivery(
  ctx: Ctx,
  { uuid, workerId }: { uuid: string; workerId: string },
  outcome: DeliveryOutcome,
): Promise<void> {
  await ctx.db.execute(sql`
    with settled as (
      update deliveries
      set status = ${outcome.status}, duration_ms = ${outcome.durationMs}, response_status = ${outcome.responseStatus},
        response_body = ${outcome.responseBody}, error = ${outcome.error}
      where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuid} and worker_id = ${workerId}
        and status in ('SENDING', 'INTERRUPTED')
      returning id)
    delete from outbox where id = ${uuid} and exists (select from settled)`)
}

/** Takes a claim back that was surely not acted upon, as its answer never came. */
export async function undoDeliveryClaim(ctx: Ctx, uuid: string, workerId: string): Promise<void> {
  await ctx.db.execute(sql`
    update deliveries set status = 'PENDING', worker_id = null, attempted_at = null
    where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuid} and worker_id = ${workerId} and status = 'SENDING'`)
}

/** Nothing was claimed. If that is because the webhook is disabled or gone, the work is over too. */
function abandonDelivery(ctx: Ctx, uuid: string): Promise<void> {
  return inTransaction(ctx, async ({ db }) => {
    await db.execute(sql`
      update deliveries d set status = 'FAILED', error = 'The webhook was disabled'
      from webhooks w
      where d.workspace_id = ${uuidOf(ctx.workspaceId)} and d.id = ${uuid} and d.status = 'PENDING'
        and w.workspace_id = d.workspace_id and w.id = d.webhook_id and not w.enabled`)
    const open = await db.execute(sql`
      select from deliveries
      where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuid} and status in ('PENDING', 'SENDING')`)
    if (open.rowCount === 0) await finishWork(db, [uuid])
  })
}
