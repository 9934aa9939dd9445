import { and, eq, gt, inArray, isNotNull, isNull, lt, or, type SQL, sql } from 'drizzle-orm'
import type { Ctx } from '../request/context.ts'
import type { Db } from '../db/client.ts'
import { type IdOf, idOf, type IdPrefix, uuidOf } from '../kernel/ids.ts'
import { outboxChannel, type WorkJob, type QueueName } from './queues.ts'
import { outbox } from '../db/schema/index.ts'
import { transaction } from '../db/transaction.ts'

/** Work on this queue has lanes: its outbox rows say which. */
type LanedQueue = 'webhooks'

/** Puts work on a queue, in the caller's transaction: it exists if, and only if, that commits. `id` is its subject's. */
export async function enqueue(ctx: Ctx, queue: Exclude<QueueName, LanedQueue>, id: IdOf<IdPrefix>): Promise<void> {
  await ctx.db.execute(sql`
    with ready as (select ${uuidOf(ctx.workspaceId)}::uuid as workspace_id, ${uuidOf(id)}::uuid as id),
    ${enqueueMany(queue, 'ready', originOf(ctx))}
    select from notified`)
}

/** The request that asks for work, as its logs and traces know it; or where a statement finds these. */
type Origin = Record<'requestId' | 'traceparent', string | null | SQL>
export const originOf = (ctx: Ctx) => ({ requestId: ctx.requestId, traceparent: ctx.traceparent ?? null })

/**
 * The same for a whole set, as two members of a `with` list: every `workspace_id` and `id` of the earlier member `source`
 * goes on the queue, with its `lane` where the queue has lanes.
 * The main query must read `notified`, as PostgreSQL does not run a SELECT that nobody reads.
 */
export function enqueueMany(queue: QueueName, source: string, origin: Origin): SQL {
  const lane = sql.raw(queue === ('webhooks' satisfies LanedQueue) ? 'lane' : 'null::uuid')
  return sql`
    enqueued as (
      insert into outbox (id, workspace_id, queue, lane, request_id, traceparent)
      select id, workspace_id, ${queue}, ${lane}, ${origin.requestId}::text, ${origin.traceparent}::text
      from ${sql.identifier(source)}
      returning id),
    notified as (select pg_notify(${outboxChannel}, '') from enqueued limit 1)`
}

/** The work is done and its outcome recorded, in the same transaction. UUIDs, as a job carries them. */
export async function finishWork(db: Db, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await db.delete(outbox).where(inArray(outbox.id, [...uuids]))
}

/** Hands work that a dead worker left behind to the relay again. */
export async function requeueWork(db: Db, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await db
    .update(outbox)
    .set({ relayedEpoch: null })
    .where(inArray(outbox.id, [...uuids]))
  await wakeRelays(db)
}

/** What is said where there is room for work that waits, which new work alone does not tell. */
export const roomSaid = 'room'

/** For whoever made room in a lane. */
export async function wakeRelays(db: Db): Promise<void> {
  await db.execute(sql`select pg_notify(${outboxChannel}, ${roomSaid})`)
}

/** Work on its way to the queue. `jobId` is a fresh one each time, as a queue ignores an id that it still knows. */
export interface RelayedWork {
  queue: QueueName
  jobId: string
  data: WorkJob
}

const relayBatchSize = 500

type HandOver = (work: RelayedWork[]) => Promise<void>

/**
 * Hands work that waits in the outbox over to the queue, some hundred pieces in one transaction; several relays share
 * it without overlap. `epoch` names the present life of the queue's store: what was handed over in another life counts
 * as not handed over, so that a store which lost its data is given everything again. Answers whether there may be more.
 */
export function relayWork(db: Db, epoch: string, handOver: HandOver): Promise<boolean> {
  return transaction(db, async (db) => {
    const rows = await db
      .select(waitingColumns)
      .from(outbox)
      .where(and(isNull(outbox.relayedEpoch), isNull(outbox.lane)))
      .orderBy(outbox.createdAt)
      .limit(relayBatchSize)
      .for('update', { skipLocked: true })
    await relayRows(db, rows, { epoch, handOver })
    return rows.length === relayBatchSize
  })
}

/** How much of one lane, and of one workspace in all lanes, is handed over and not done at a time. */
export const laneRoom = 5
export const workspaceRoom = 20
/**
 * A lane whose work is done quickly may have more, as long as its workspace has no more than this: what another lane
 * begins with is left. With more at a time, more outcomes come together, and a statement costs little more for many.
 */
export const quickRoom = workspaceRoom - laneRoom
/** Settings by which PostgreSQL goes from row to row by the indexes, whatever it knows of how many rows there are. */
export const forceIndexScans = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_bitmapscan: 'off',
}
/** Any number, the same in every process: one relay at a time counts what is handed over, or two would hand over twice as much. */
const lanesLock = 7_277_680

/**
 * The same for work in lanes: of each no more than there is room for, the oldest first; of `quickLanes` more, behind what
 * all others may have. So the work of a lane that makes no progress waits in the outbox, and never in the way of
 * another's; and that holds over all workers together.
 */
export function relayLanes(
  db: Db,
  { epoch, quickLanes = [] }: { epoch: string; quickLanes?: readonly string[] },
  handOver: HandOver,
): Promise<boolean> {
  return transaction(db, async (db) => {
    const settings = JSON.stringify(forceIndexScans)
    await db.execute(sql`
      select pg_advisory_xact_lock(${lanesLock}), (
        select count(set_config(key, value, true)) from json_each_text(${settings}))`)
    // The first member steps from lane to lane in the index, so that the length of a lane does not matter.
    const result = await db.execute<Record<string, unknown> & WaitingRow>(sql`
      with recursive lanes as (
        (select lane, workspace_id from outbox where relayed_epoch is null and lane is not null order by lane limit 1)
        union all
        select next.* from lanes cross join lateral (
          select lane, workspace_id from outbox
          where relayed_epoch is null and lane > lanes.lane order by lane limit 1) next),
      -- How much room is left.
      room as materialized (
        select lanes.*, lane = any(${sql.param([...quickLanes])}::uuid[]) as is_quick, ${laneRoom} - (
          select count(*) from outbox busy
          where busy.workspace_id = lanes.workspace_id and busy.lane = lanes.lane and busy.relayed_epoch is not null)
          as of_lane
        from lanes),
      fitting as (
        select next.*, turn > of_lane as is_more, of_workspace, of_quick
        from (select * from room where of_lane > 0 or is_quick) room
        cross join lateral (
          select ${workspaceRoom} - count(*) as of_workspace, ${quickRoom} - count(*) as of_quick from outbox busy
          where busy.workspace_id = room.workspace_id and busy.lane is not null and busy.relayed_epoch is not null) busy
        cross join lateral (
          select id, workspace_id, queue, relays, created_at, row_number() over (order by created_at, id) as turn
          from outbox where lane = room.lane and relayed_epoch is null
          order by created_at, id
          limit greatest(0, of_lane, case when is_quick then of_quick end)) next),
      ranked as (
        select *, row_number() over (partition by workspace_id order by is_more, turn, created_at, id) as place
        from fitting)
      select o.id, o.workspace_id as "workspaceId", o.queue, o.relays, o.request_id as "requestId", o.traceparent
      from ranked join outbox o using (id)
      where place <= case when is_more then of_quick else of_workspace end
      order by ranked.created_at, id limit ${relayBatchSize} for update of o skip locked`)
    const rows = result.rows.map((row) => ({ ...row, workspaceId: idOf('wsp', row.workspaceId) }))
    await relayRows(db, rows, { epoch, handOver })
    return rows.length === relayBatchSize
  })
}

async function relayRows(db: Db, rows: WaitingRow[], { epoch, handOver }: { epoch: string; handOver: HandOver }) {
  if (rows.length === 0) return
  await handOver(rows.map((row) => toWork({ ...row, relays: row.relays + 1 })))
  await db
    .update(outbox)
    .set({ relayedEpoch: epoch, relayedAt: sql`now()`, relays: sql`${outbox.relays} + 1` })
    .where(
      inArray(
        outbox.id,
        rows.map((row) => row.id),
      ),
    )
}

/** Puts back into waiting what was handed over in another life of the queue's store. */
export async function forgetOtherEpochs(db: Db, epoch: string): Promise<void> {
  // Two ranges, where `<>` would read the whole index.
  await db
    .update(outbox)
    .set({ relayedEpoch: null })
    .where(or(lt(outbox.relayedEpoch, epoch), gt(outbox.relayedEpoch, epoch)))
}

/**
 * The backstop: work handed over more than ten minutes ago and not done. What the queue no longer knows goes back into
 * waiting; of the rest it is asked again in ten minutes.
 */
export async function recheckOldWork(db: Db, isKnown: (work: RelayedWork) => Promise<boolean>): Promise<void> {
  const rows = await db
    .select(waitingColumns)
    .from(outbox)
    .where(and(isNotNull(outbox.relayedEpoch), lt(outbox.relayedAt, sql`now() - interval '10 minutes'`)))
    .limit(relayBatchSize)
  for (const row of rows) {
    const known = await isKnown(toWork(row))
    await db
      .update(outbox)
      .set(known ? { relayedAt: sql`now()` } : { relayedEpoch: null })
      .where(and(eq(outbox.id, row.id), eq(outbox.relays, row.relays)))
  }
}

const waitingColumns = {
  id: outbox.id,
  workspaceId: outbox.workspaceId,
  queue: outbox.queue,
  relays: outbox.relays,
  requestId: outbox.requestId,
  traceparent: outbox.traceparent,
}
type WaitingRow = Pick<typeof outbox.$inferSelect, keyof typeof waitingColumns>

function toWork({ id, workspaceId, queue, relays, requestId, traceparent }: WaitingRow): RelayedWork {
  return {
    queue: queue as QueueName,
    jobId: `${id}-${relays}`,
    data: { workspaceId, id, requestId, traceparent },
  }
}
