/** How attempts of deliveries ended, and who goes on with what waits. */
import { sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { idOf } from '../kernel/ids.ts'
import { laneRoom, quickRoom, workspaceRoom } from '../jobs/outbox.ts'
import { preparedSql } from '../db/prepared-query.ts'
import type { WorkJob } from '../jobs/queues.ts'
import {
  type ClaimedDelivery,
  type ClaimedRow,
  eventColumns,
  eventOf,
  idsOf,
  type Jobs,
  toClaimed,
  webhookColumns,
} from './deliveries.ts'

export interface DeliveryOutcome {
  status: 'SUCCEEDED' | 'FAILED'
  durationMs: number
  responseStatus: number | null
  responseBody: string | null
  error: string | null
}

/** How an attempt ended. `goesOn`: whoever made it makes the next one of the same lane. `isQuick`: so is its receiver. */
export interface EndedDelivery extends WorkJob {
  outcome: DeliveryOutcome
  goesOn: boolean
  isQuick: boolean
}

/** One that waited, and the claim of it. */
export interface NextDelivery {
  job: WorkJob
  delivery: ClaimedDelivery
}

interface FreedLane {
  lane: string
  freed: number
  /** How much was handed over before. */
  in_lane: number
  in_workspace: number
  /** What was not yet, as far as there could be room for it. */
  waiting: number
}
interface NextRow extends ClaimedRow {
  workspace_id: string
  request_id: string | null
  traceparent: string | null
}

/**
 * Records how attempts ended. A late truth corrects a premature INTERRUPTED, but only that of the same worker. The
 * deliveries' rows are locked first, in the order of whoever buries dead workers at that moment.
 *
 * In the same statement, as each is a wait for the disk, takes in hand what waits next in the same lanes, for those who
 * go on, as long as their lanes and workspaces are not given more than is their due; and none of `inHand`. Waits for
 * nobody there: what another has locked is left to it. When its answer is lost, it is to be read by `readNextDeliveries`.
 *
 * Answers as well whether a relay has room to fill, as somebody does not go on: each time as long as there is any, as the
 * relay may just have looked, and filled the room of the one before.
 */
export async function settleDeliveries(
  db: Db,
  workerId: string,
  { ended, inHand }: { ended: readonly EndedDelivery[]; inHand: readonly string[] },
): Promise<{ next: NextDelivery[]; hasMadeRoom: boolean }> {
  const rows = await settle(db, {
    workerId,
    ...idsOf(ended),
    goesOn: ended.map(({ goesOn }) => goesOn),
    isQuick: ended.map(({ isQuick }) => isQuick),
    statuses: ended.map(({ outcome }) => outcome.status),
    durationsMs: ended.map(({ outcome }) => outcome.durationMs),
    responseStatuses: ended.map(({ outcome }) => outcome.responseStatus),
    responseBodies: ended.map(({ outcome }) => outcome.responseBody),
    errors: ended.map(({ outcome }) => outcome.error),
    inHand,
  })
  const lanes = [...Map.groupBy(rows, ({ lane }) => lane).values()]
  const next = rows.filter((row): row is FreedLane & NextRow => row.id !== null)
  return { next: next.map(toNext), hasMadeRoom: lanes.some(leavesRoom) }
}

/** The rows of one lane: one for each that was claimed, or one without. */
function leavesRoom(rows: (FreedLane & { id: string | null })[]): boolean {
  const [{ in_lane, in_workspace, waiting, freed }, claimed] = [
    rows[0] as FreedLane,
    rows.filter(({ id }) => id).length,
  ]
  const givenUp = freed - claimed
  if (givenUp === 0 || in_workspace - givenUp >= workspaceRoom) return false
  // Where it has more than that, another may just be giving up as much, unseen.
  const isLaneShort = waiting > claimed && (in_lane - givenUp < laneRoom || in_lane > laneRoom)
  // Where the workspace was all but full, other lanes of it may be waiting.
  return isLaneShort || in_workspace > workspaceRoom - laneRoom
}

function toNext(row: NextRow): NextDelivery {
  const { id, workspace_id, request_id, traceparent } = row
  const job = { id, workspaceId: idOf('wsp', workspace_id), requestId: request_id, traceparent }
  return { job, delivery: toClaimed(row) }
}

interface Settlement extends Jobs {
  workerId: string
  goesOn: boolean[]
  isQuick: boolean[]
  statuses: string[]
  durationsMs: number[]
  responseStatuses: (number | null)[]
  responseBodies: (string | null)[]
  errors: (string | null)[]
  inHand: readonly string[]
}

const settle = preparedSql<Settlement, FreedLane & (NextRow | { id: null })>(
  'settle deliveries',
  (param) => sql`
    with ended as (
      select * from unnest(${param('ids')}::uuid[], ${param('workspaceIds')}::uuid[], ${param('goesOn')}::bool[],
        ${param('isQuick')}::bool[], ${param('statuses')}::text[], ${param('durationsMs')}::int[],
        ${param('responseStatuses')}::int[], ${param('responseBodies')}::text[], ${param('errors')}::text[])
        as ended (id, workspace_id, goes_on, is_quick, status, duration_ms, response_status, response_body, error)),
    held as (
      select ended.* from (select * from ended order by id) ended cross join lateral (
        select from deliveries d
        where d.workspace_id = ended.workspace_id and d.id = ended.id
          and d.worker_id = ${param('workerId')} and d.status in ('SENDING', 'INTERRUPTED') for update) held),
    settled as (
      update deliveries d
      set status = held.status, duration_ms = held.duration_ms, response_status = held.response_status,
        response_body = held.response_body, error = held.error
      from held
      where d.workspace_id = held.workspace_id and d.id = held.id
      returning d.id),
    done as (
      delete from outbox where id in (select id from settled)
      returning id, workspace_id, lane, relayed_epoch, created_at),
    freed as (
      select done.workspace_id, done.lane, max(done.relayed_epoch) as epoch,
        min(done.created_at) as since_at, min(done.id::text)::uuid as since_id,
        count(*)::int as freed, count(*) filter (where goes_on)::int as going_on, bool_or(is_quick) as is_quick
      from done join ended using (id) where done.lane is not null group by 1, 2),
    room as (
      select freed.*,
        (select count(*)::int from outbox busy where busy.workspace_id = freed.workspace_id and busy.lane = freed.lane
          and busy.relayed_epoch is not null) as in_lane,
        (select count(*)::int from outbox busy where busy.workspace_id = freed.workspace_id and busy.lane is not null
          and busy.relayed_epoch is not null) as in_workspace
      from freed),
    -- Behind what was done, as the index of a lane begins with all that is over. What came late before it, a relay takes:
    -- there is room for it each time that one of these no longer goes on.
    oldest as (
      select o.*, room.lane, room.epoch from room cross join lateral (
        select o.id, o.workspace_id, o.request_id, o.traceparent from outbox o
        where o.lane = room.lane and o.relayed_epoch is null and o.id <> all(${param('inHand')}::uuid[])
          and (o.created_at, o.id) > (room.since_at, room.since_id)
        order by o.created_at, o.id
        limit greatest(0, least(going_on, ${workspaceRoom}::int - in_workspace + freed,
          freed + greatest(${laneRoom}::int - in_lane, case when is_quick then ${quickRoom}::int - in_workspace end)))
        for update skip locked) o
      where room.epoch is not null),
    waiting as (
      select oldest.id, oldest.workspace_id, oldest.request_id, oldest.traceparent, oldest.epoch, d.webhook_id, e.*
      from oldest
      cross join lateral (
        select d.webhook_id, d.event_id from deliveries d
        where d.workspace_id = oldest.workspace_id and d.id = oldest.id and d.status = 'PENDING'
        for update skip locked) d
      cross join lateral ${eventOf(sql`oldest.workspace_id`)}),
    listening as (
      select w.* from (select distinct workspace_id, webhook_id from waiting) named
      cross join lateral (
        select w.* from webhooks w
        where w.workspace_id = named.workspace_id and w.id = named.webhook_id and w.enabled
        for share skip locked) w),
    claimed as (
      update deliveries d
      set status = 'SENDING', worker_id = ${param('workerId')}, attempted_at = now()
      from waiting, listening w
      where d.workspace_id = waiting.workspace_id and d.id = waiting.id
        and w.workspace_id = waiting.workspace_id and w.id = waiting.webhook_id
      returning d.id, ${webhookColumns}, waiting.event, waiting.type, waiting.data, waiting.timestamp,
        waiting.workspace_id, waiting.request_id, waiting.traceparent, waiting.epoch),
    handed_over as (
      update outbox o set relayed_epoch = claimed.epoch, relayed_at = now(), relays = relays + 1
      from claimed where o.id = claimed.id)
    select lane, freed, in_lane, in_workspace, claimed.*, case
        when freed = found then found
        when freed = going_on then (select count(*)::int from (
          select from outbox o
          where o.lane = room.lane and o.relayed_epoch is null and o.id <> all(${param('inHand')}::uuid[])
            and (o.created_at, o.id) > (room.since_at, room.since_id)
          limit ${workspaceRoom + 1}::int) o)
        else (select count(*)::int from (
          select from outbox o
          where o.lane = room.lane and o.relayed_epoch is null and o.id <> all(${param('inHand')}::uuid[])
          limit ${workspaceRoom + 1}::int) o) end as waiting
    from room cross join lateral (select count(*)::int as found from oldest where oldest.lane = room.lane) found
    left join claimed on claimed.webhook = room.lane`,
)

/**
 * What was taken in hand as these were settled, by a statement whose answer never came; to be asked once another has
 * surely settled them. A row's `xmin` is the transaction that made it what it is.
 */
export async function readNextDeliveries(
  db: Db,
  workerId: string,
  { ended, inHand }: { ended: readonly WorkJob[]; inHand: readonly string[] },
): Promise<NextDelivery[]> {
  const { ids, workspaceIds } = idsOf(ended)
  const result = await db.execute<NextRow>(sql`
    select d.id, ${webhookColumns}, ${eventColumns}, o.workspace_id, o.request_id, o.traceparent
    from deliveries d
    join outbox o on o.id = d.id
    join webhooks w on w.workspace_id = d.workspace_id and w.id = d.webhook_id
    join events e on e.workspace_id = d.workspace_id and e.id = d.event_id
    where d.workspace_id = any(${sql.param(workspaceIds)}::uuid[]) and d.status = 'SENDING' and d.worker_id = ${workerId}
      and d.id <> all(${sql.param([...inHand])}::uuid[])
      and d.xmin = any(array(
        select settled.xmin from deliveries settled
        where settled.workspace_id = any(${sql.param(workspaceIds)}::uuid[]) and settled.id = any(${sql.param(ids)}::uuid[])))`)
  return result.rows.map(toNext)
}
