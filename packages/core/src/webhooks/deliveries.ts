/** The worker's side of a webhook: one claim, one attempt, one outcome. Many at once are one statement. */
import { type SQL, sql } from 'drizzle-orm'
import type { Settings } from '../context.ts'
import type { Db } from '../db.ts'
import { idOf, uuidOf } from '../ids.ts'
import { laneRoom, workspaceRoom } from '../outbox.ts'
import { type Given, preparedSql } from '../prepared.ts'
import type { WorkJob } from '../queues.ts'
import { unseal } from '../secrets.ts'
import { bodyOfEvent, signBody } from './signature.ts'

export interface ClaimedDelivery {
  uuid: string
  url: string
  /** For `signatureHeaders`, and sealed until then. */
  sealedSecret: string
  formerSecrets: { encrypted: string; until: string }[]
  webhookId: string
  eventId: string
  /** The exact text to sign and to send. */
  body: string
}

/**
 * For the connections on which deliveries are claimed and settled, though a pooler's cannot have it: both statements are
 * planned once, on each, to go from id to id by the indexes. With partitions a plan costs more than what it is for; and
 * this one is good however few rows there are when it is made.
 */
export const deliveryPlanning = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}

/** A delivery to be taken in hand. `epoch` is there when no job was made of it: it is handed over by this very claim. */
export interface WantedDelivery extends WorkJob {
  epoch?: string
}

interface ClaimedRow extends Record<string, unknown> {
  uuid: string
  webhook: string
  url: string
  encrypted_secret: string
  former_secrets: ClaimedDelivery['formerSecrets']
  event: string
  type: string
  data: string
  created_at: string
}

/**
 * Takes deliveries in hand: the one statement that lets them be attempted, ever. Left out is what is in other hands, or
 * over, or whose webhook is disabled. The rows are locked in the order of their ids, so that two claims do not wait for
 * each other; and the webhooks with them, so that none is claimed once a webhook was disabled.
 */
export async function claimDeliveries(
  db: Db,
  workerId: string,
  wanted: readonly WantedDelivery[],
): Promise<ClaimedDelivery[]> {
  const rows = await claim(db, {
    workerId,
    ...idsOf(wanted),
    epochs: wanted.map(({ epoch }) => epoch ?? null),
  })
  return rows.map(toClaimed)
}

const claim = preparedSql<Jobs & { workerId: string; epochs: (string | null)[] }, ClaimedRow>(
  'claim deliveries',
  (given) => sql`
    with job as (
      select * from unnest(${given('ids')}::uuid[], ${given('workspaceIds')}::uuid[], ${given('epochs')}::text[])
        as job (id, workspace_id, epoch)),
    waiting as (
      select d.*, e.id as event, e.type, e.data, e.created_at
      from (select * from job order by id) job
      cross join lateral (
        select d.workspace_id, d.id, d.webhook_id, d.event_id, job.epoch from deliveries d
        where d.workspace_id = job.workspace_id and d.id = job.id and ${isOf(given)}
          and d.status = 'PENDING' for update) d
      join events e on e.workspace_id = d.workspace_id and e.id = d.event_id),
    listening as (
      select w.* from webhooks w
      where w.enabled and (w.workspace_id, w.id) in (select workspace_id, webhook_id from waiting)
      order by w.id for share),
    claimed as (
      update deliveries d
      set status = 'SENDING', worker_id = ${given('workerId')}, attempted_at = now()
      from waiting, listening w
      where d.workspace_id = waiting.workspace_id and d.id = waiting.id and ${isOf(given)}
        and w.workspace_id = waiting.workspace_id and w.id = waiting.webhook_id
      returning d.id as uuid, w.id as webhook, w.url, w.encrypted_secret, w.former_secrets,
        waiting.event, waiting.type, waiting.data::text, waiting.created_at, waiting.epoch),
    -- What a relay has locked, it is handing over itself.
    waiting_work as (
      select o.id, claimed.epoch from outbox o join claimed on claimed.uuid = o.id
      where claimed.epoch is not null for update of o skip locked),
    handed_over as (
      update outbox o set relayed_epoch = waiting_work.epoch, relayed_at = now(), relays = relays + 1
      from waiting_work where o.id = waiting_work.id)
    select * from claimed`,
)

function toClaimed(row: ClaimedRow): ClaimedDelivery {
  const eventId = idOf('evt', row.event)
  const timestamp = new Date(row.created_at).toISOString()
  return {
    uuid: row.uuid,
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

export interface DeliveryOutcome {
  status: 'SUCCEEDED' | 'FAILED'
  durationMs: number
  responseStatus: number | null
  responseBody: string | null
  error: string | null
}

/** How an attempt ended. `goesOn`: whoever made it could make the next one of the same lane. */
export interface EndedDelivery extends WorkJob {
  outcome: DeliveryOutcome
  goesOn: boolean
}

interface FreedLane extends Record<string, unknown> {
  workspace_id: string
  epoch: string | null
  next: Pick<WantedDelivery, 'id' | 'requestId' | 'traceparent'>[]
  freed: number
  /** How much was handed over before. */
  in_lane: number
  in_workspace: number
  /** What was not yet, as far as there could be room for it. */
  waiting: number
}

/**
 * Records how attempts ended. A late truth corrects a premature INTERRUPTED, but only that of the same worker. The
 * deliveries' rows are locked first, in the order of whoever buries dead workers at that moment.
 *
 * Answers what waits next in the same lanes, for those who go on, as long as their lanes and workspaces are not given
 * more than is their due: not yet claimed, and none of `inHand`. And whether a relay has room to fill, as somebody does
 * not go on: each time as long as there is any, as the relay may just have looked, and filled the room of the one before.
 */
export async function settleDeliveries(
  db: Db,
  workerId: string,
  { ended, inHand }: { ended: readonly EndedDelivery[]; inHand: readonly string[] },
): Promise<{ next: WantedDelivery[]; hasMadeRoom: boolean }> {
  const rows = await settle(db, {
    workerId,
    ...idsOf(ended),
    goesOn: ended.map(({ goesOn }) => goesOn),
    statuses: ended.map(({ outcome }) => outcome.status),
    durationsMs: ended.map(({ outcome }) => outcome.durationMs),
    responseStatuses: ended.map(({ outcome }) => outcome.responseStatus),
    responseBodies: ended.map(({ outcome }) => outcome.responseBody),
    errors: ended.map(({ outcome }) => outcome.error),
    inHand,
  })
  return {
    next: rows.flatMap(({ workspace_id, epoch, next }) =>
      next.map((one) => ({ ...one, workspaceId: idOf('wsp', workspace_id), ...(epoch !== null && { epoch }) })),
    ),
    hasMadeRoom: rows.some(({ in_lane, in_workspace, waiting, freed, next }) => {
      const givenUp = freed - next.length
      if (givenUp === 0 || in_workspace - givenUp >= workspaceRoom) return false
      const isLaneShort = waiting > next.length && in_lane - givenUp < laneRoom
      // Where the workspace was all but full, other lanes of it may be waiting.
      return isLaneShort || in_workspace > workspaceRoom - laneRoom
    }),
  }
}

interface Settlement extends Jobs {
  workerId: string
  goesOn: boolean[]
  statuses: string[]
  durationsMs: number[]
  responseStatuses: (number | null)[]
  responseBodies: (string | null)[]
  errors: (string | null)[]
  inHand: readonly string[]
}

const settle = preparedSql<Settlement, FreedLane>(
  'settle deliveries',
  (given) => sql`
    with ended as (
      select * from unnest(${given('ids')}::uuid[], ${given('workspaceIds')}::uuid[], ${given('goesOn')}::bool[],
        ${given('statuses')}::text[], ${given('durationsMs')}::int[], ${given('responseStatuses')}::int[],
        ${given('responseBodies')}::text[], ${given('errors')}::text[])
        as ended (id, workspace_id, goes_on, status, duration_ms, response_status, response_body, error)),
    held as (
      select ended.* from (select * from ended order by id) ended cross join lateral (
        select from deliveries d
        where d.workspace_id = ended.workspace_id and d.id = ended.id and ${isOf(given)}
          and d.worker_id = ${given('workerId')} and d.status in ('SENDING', 'INTERRUPTED') for update) held),
    settled as (
      update deliveries d
      set status = held.status, duration_ms = held.duration_ms, response_status = held.response_status,
        response_body = held.response_body, error = held.error
      from held
      where d.workspace_id = held.workspace_id and d.id = held.id and ${isOf(given)}
      returning d.id),
    done as (
      delete from outbox where id in (select id from settled)
      returning id, workspace_id, lane, relayed_epoch),
    freed as (
      select done.workspace_id, done.lane, max(done.relayed_epoch) as epoch,
        count(*)::int as freed, count(*) filter (where goes_on)::int as going_on
      from done join ended using (id) where done.lane is not null group by 1, 2),
    room as (
      select freed.*,
        (select count(*)::int from outbox busy where busy.workspace_id = freed.workspace_id and busy.lane = freed.lane
          and busy.relayed_epoch is not null) as in_lane,
        (select count(*)::int from outbox busy where busy.workspace_id = freed.workspace_id and busy.lane is not null
          and busy.relayed_epoch is not null) as in_workspace,
        (select count(*)::int from (
          select from outbox o
          where o.lane = freed.lane and o.relayed_epoch is null and o.id <> all(${given('inHand')}::uuid[]) limit ${2 * laneRoom}::int) o) as waiting,
        (select count(*) from workers) as workers
      from freed)
    select workspace_id, epoch, freed, in_lane, in_workspace, waiting,
      array(
        select json_build_object('id', id, 'requestId', request_id, 'traceparent', traceparent) from (
          select * from outbox o
          where o.lane = room.lane and o.relayed_epoch is null and o.id <> all(${given('inHand')}::uuid[])
          order by o.created_at, o.id limit ${2 * laneRoom}::int * workers) oldest
        -- Workers that all took the oldest would take it from each other.
        order by case when workers > 1 then random() end, created_at, id
        limit case when epoch is not null then greatest(0, least(going_on,
          ${laneRoom}::int - in_lane + freed, ${workspaceRoom}::int - in_workspace + freed)) else 0 end) as next
    from room`,
)

/** Takes a claim back that was surely not acted upon, as its answer never came. */
export async function undoDeliveryClaim(db: Db, workerId: string, { id, workspaceId }: WorkJob): Promise<void> {
  await db.execute(sql`
    update deliveries set status = 'PENDING', worker_id = null, attempted_at = null
    where workspace_id = ${uuidOf(workspaceId)} and id = ${id} and worker_id = ${workerId} and status = 'SENDING'`)
}

/** What jobs are about, an array for each column; and the range of the ids. */
interface Jobs extends Record<string, unknown> {
  ids: string[]
  workspaceIds: string[]
  idsFrom: string
  idsUntil: string
}

function idsOf(jobs: readonly WorkJob[]): Jobs {
  const ids = jobs.map(({ id }) => id)
  const sorted = ids.toSorted()
  const [idsFrom = '', idsUntil = ''] = [sorted[0], sorted.at(-1)]
  return { ids, workspaceIds: jobs.map(({ workspaceId }) => uuidOf(workspaceId)), idsFrom, idsUntil }
}

/** True of every delivery `d` that is asked for: it spares the plan all partitions but theirs, mostly one. */
function isOf(given: Given<Jobs>): SQL {
  return sql`d.id between ${given('idsFrom')} and ${given('idsUntil')}`
}
