/** The worker's side of a webhook: one claim, one attempt, one outcome (`settlement.ts`). Many at once are one statement. */
import { type SQL, sql } from 'drizzle-orm'
import type { Settings } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { type EventId, idOf, uuidOf, type WebhookId } from '../kernel/ids.ts'
import { forceIndexScans } from '../jobs/outbox.ts'
import { preparedSql } from '../db/prepared-query.ts'
import type { WorkJob } from '../jobs/queues.ts'
import { unseal } from '../kernel/crypto.ts'
import { bodyOfEvent, signBody } from './signature.ts'

export interface ClaimedDelivery {
  uuid: string
  url: string
  /** For `signatureHeaders`, and sealed until then. */
  sealedSecret: string
  formerSecrets: { encrypted: string; until: string }[]
  webhookId: WebhookId
  eventId: EventId
  /** The exact text to sign and to send. */
  body: string
}

/**
 * For the connections on which deliveries are claimed and settled, though a pooler's cannot have it: both statements are
 * planned once in a while, on each, to go from id to id by the indexes. With partitions a plan costs more than what it is
 * for; and this one is good however few rows there are when it is made, but for an index that is as good as another as
 * long as both are known to be empty.
 */
export const deliveryPlanning = {
  plan_cache_mode: 'force_generic_plan',
  ...forceIndexScans,
}

export interface ClaimedRow extends Record<string, unknown> {
  id: string
  webhook: string
  url: string
  encrypted_secret: string
  former_secrets: ClaimedDelivery['formerSecrets']
  event: string
  type: string
  data: string
  timestamp: string
}

export const webhookColumns = sql`w.id as webhook, w.url, w.encrypted_secret, w.former_secrets`
export const eventColumns = sql`e.id as event, e.type, e.data::text, e.created_at as timestamp`
/** That of a delivery `d`. With a limit, as PostgreSQL might otherwise look for the delivery of each event. */
export const eventOf = (workspaceId: SQL) => sql`(
  select ${eventColumns} from events e where e.workspace_id = ${workspaceId} and e.id = d.event_id limit 1) e`

/**
 * Takes deliveries in hand, as their jobs have come: what is not claimed, here or by who settles another, is never
 * attempted. Left out is what is in other hands, or over, or whose webhook is disabled. The rows are locked in the order
 * of their ids, so that two claims do not wait for each other; and the webhooks with them, so that none is claimed once
 * a webhook was disabled.
 */
export async function claimDeliveries(
  db: Db,
  workerId: string,
  wanted: readonly WorkJob[],
): Promise<ClaimedDelivery[]> {
  const rows = await claim(db, { workerId, ...idsOf(wanted) })
  return rows.map(toClaimed)
}

const claim = preparedSql<Jobs & { workerId: string }, ClaimedRow>(
  'claim deliveries',
  (param) => sql`
    with job as (
      select * from unnest(${param('ids')}::uuid[], ${param('workspaceIds')}::uuid[]) as job (id, workspace_id)),
    waiting as (
      select d.*, e.*
      from (select * from job order by id) job
      cross join lateral (
        select d.workspace_id, d.id, d.webhook_id, d.event_id from deliveries d
        where d.workspace_id = job.workspace_id and d.id = job.id
          and d.status = 'PENDING' for update) d
      cross join lateral ${eventOf(sql`d.workspace_id`)}),
    listening as (
      select w.* from (select distinct workspace_id, webhook_id from waiting order by webhook_id) named
      cross join lateral (
        select w.* from webhooks w
        where w.workspace_id = named.workspace_id and w.id = named.webhook_id and w.enabled for share) w),
    claimed as (
      update deliveries d
      set status = 'SENDING', worker_id = ${param('workerId')}, attempted_at = now()
      from waiting, listening w
      where d.workspace_id = waiting.workspace_id and d.id = waiting.id
        and w.workspace_id = waiting.workspace_id and w.id = waiting.webhook_id
      returning d.id, ${webhookColumns}, waiting.event, waiting.type, waiting.data, waiting.timestamp)
    select * from claimed`,
)

export function toClaimed(row: ClaimedRow): ClaimedDelivery {
  const eventId = idOf('evt', row.event)
  const timestamp = new Date(row.timestamp).toISOString()
  return {
    uuid: row.id,
    url: row.url,
    sealedSecret: row.encrypted_secret,
    formerSecrets: row.former_secrets,
    webhookId: idOf('whk', row.webhook),
    eventId,
    body: bodyOfEvent({ id: eventId, type: row.type, timestamp, data: row.data }),
  }
}

/** The headers to send it with, signed by the secret and by those that were replaced within the last day. */
export function signatureHeaders(
  { keys }: Pick<Settings, 'keys'>,
  delivery: ClaimedDelivery,
  now = new Date(),
): Record<string, string> {
  const former = delivery.formerSecrets.filter(({ until }) => new Date(until) > now)
  const sealed = [delivery.sealedSecret, ...former.map(({ encrypted }) => encrypted)]
  return signBody(
    delivery,
    sealed.map((secret) => unseal(keys, secret, delivery.webhookId)),
    now,
  )
}

/** Takes a claim back that was surely not acted upon, as its answer never came. */
export async function undoDeliveryClaim(db: Db, workerId: string, { id, workspaceId }: WorkJob): Promise<void> {
  await db.execute(sql`
    update deliveries set status = 'PENDING', worker_id = null, attempted_at = null
    where workspace_id = ${uuidOf(workspaceId)} and id = ${id} and worker_id = ${workerId} and status = 'SENDING'`)
}

/**
 * What jobs are about, an array for each column. A statement that locks is not told their range, which would spare it
 * partitions: PostgreSQL 18.4 crashes where it prunes by a parameter and then meets a row that was just changed.
 */
export interface Jobs extends Record<string, unknown> {
  ids: string[]
  workspaceIds: string[]
}

export function idsOf(jobs: readonly WorkJob[]): Jobs {
  return { ids: jobs.map(({ id }) => id), workspaceIds: jobs.map(({ workspaceId }) => uuidOf(workspaceId)) }
}
