/**
 * The outbox: one row for each piece of work, written in the transaction of the change that causes it and deleted when
 * the outcome is recorded. A relay publishes the rows: it adds a job for each row to its queue. Publishing a row twice
 * is harmless: the queue ignores a job that it still has, and a claim in PostgreSQL guards the work. Rows that still
 * exist some seconds after publishing are published again, so lost jobs need no tracking.
 */
import { inArray, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { outbox } from '../db/schema/index.ts'
import { type IdOf, idOf, type IdPrefix, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { OutboxQueue, WorkJob } from './queues.ts'
import { wakeForOutbox } from './wake-relays.ts'

/** Enqueues work in the caller's transaction. `id` is the id of the subject, such as a mail or an import. */
export async function enqueue(ctx: Ctx, queue: OutboxQueue, id: IdOf<IdPrefix>): Promise<void> {
  const { requestId, traceparent = null } = ctx
  await ctx.db.insert(outbox).values({ id: uuidOf(id), workspaceId: ctx.workspaceId, queue, requestId, traceparent })
  wakeForOutbox(ctx.db)
}

/**
 * Enqueues every `workspace_id` and `id` of the CTE `source`, as a CTE of the caller's statement. The caller calls
 * `wakeForOutbox` afterwards.
 */
export function enqueueMany(ctx: Ctx, queue: OutboxQueue, source: string): SQL {
  return sql`
    enqueued as (
      insert into outbox (id, workspace_id, queue, request_id, traceparent)
      select id, workspace_id, ${queue}, ${ctx.requestId}, ${ctx.traceparent ?? null} from ${sql.identifier(source)})`
}

/** Deletes the rows of finished work. Call it in the transaction that records the outcome. Takes UUIDs of subjects. */
export async function finishWork(db: Db, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await db.delete(outbox).where(inArray(outbox.id, [...uuids]))
}

/** Makes the relays publish released work again immediately. */
export async function requeueWork(db: Db, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await setPublishedAt(db, null, sql`id = any(${sql.param([...uuids])}::uuid[])`)
  wakeForOutbox(db)
}

/** Makes the relays publish all delayed work of the workspace, in the caller's transaction. */
export async function requeueWorkOfWorkspace({ db, workspaceId }: Ctx): Promise<void> {
  await setPublishedAt(db, null, sql`workspace_id = ${uuidOf(workspaceId)}`)
  wakeForOutbox(db)
}

const delayMs = 600_000

/** Delays the publishing of paused work by ten minutes, unless it is requeued earlier. */
export async function delayWork(db: Db, uuids: readonly string[]): Promise<void> {
  await setPublishedAt(db, inTenMinutes(), sql`id = any(${sql.param([...uuids])}::uuid[])`)
}

/**
 * Delays work that a job could not claim, because it is paused or claimed by another worker. Does nothing if the work
 * was requeued in the meantime and is not published yet.
 */
export async function delayUnclaimableWork(db: Db, uuid: string): Promise<void> {
  await setPublishedAt(db, inTenMinutes(), sql`id = ${uuid} and published_at is not null`)
}

const inTenMinutes = () => new Date(Date.now() + delayMs)

/** Locks the rows in the order of their ids to prevent deadlocks. */
async function setPublishedAt(db: Db, publishedAt: Date | null, condition: SQL): Promise<void> {
  const locked = sql`select id from outbox where ${condition} order by id for update`
  await db.update(outbox).set({ publishedAt }).where(sql`id in (${locked})`)
}

/**
 * The maximum number of published jobs per workspace and queue. The rest waits in the outbox, which ensures fair
 * sharing between workspaces: a queue itself is first in, first out.
 */
const publishedPerWorkspace: Record<OutboxQueue, number> = { campaigns: 20, mail: 100, imports: 4, maintenance: 20 }

/** After this time a published row that still exists is published again: Redis may have lost the job. */
const republishMs = 10_000

/** A job to be added to a queue. */
export interface PublishableWork {
  queue: OutboxQueue
  job: WorkJob
}

/**
 * Finds the work to publish: the oldest rows of each workspace and queue that were not published recently. Workspaces
 * take turns: the oldest row of each comes before the second one of any. The first
 * CTE is a loose index scan over queues and workspaces, so the cost does not depend on the number of rows.
 * Campaigns and imports of suspended workspaces are skipped. Single mails are not, because the claim lets password
 * resets pass.
 */
export async function findPublishableWork(db: Db): Promise<PublishableWork[]> {
  const now = new Date()
  const limits = JSON.stringify(publishedPerWorkspace)
  const result = await db.execute<PublishableRow>(sql`
    with recursive backlog as (
      (select queue, workspace_id from outbox order by queue, workspace_id limit 1)
      union all
      select next.* from backlog cross join lateral (
        select queue, workspace_id from outbox
        where (queue, workspace_id) > (backlog.queue, backlog.workspace_id) order by queue, workspace_id limit 1) next)
    select work.* from backlog
    join workspaces w on w.id = backlog.workspace_id
    join json_each_text(${limits}::json) as limits (queue, rows) on limits.queue = backlog.queue
    cross join lateral (
      select id, workspace_id, o.queue, published_at, request_id, traceparent, created_at,
        row_number() over (order by created_at, id) as turn from outbox o
      where o.queue = backlog.queue and o.workspace_id = backlog.workspace_id
        and (published_at is null or published_at <= ${now.toISOString()})
        and (w.suspended_at is null or o.queue in ('mail', 'maintenance'))
      order by created_at, id limit limits.rows::int) work
    where published_at is null or published_at < ${new Date(now.getTime() - republishMs).toISOString()}
    order by turn, created_at`)
  return result.rows.map(toPublishableWork)
}

interface PublishableRow extends Record<string, unknown> {
  id: string
  workspace_id: string
  queue: OutboxQueue
  request_id: string | null
  traceparent: string | null
}

function toPublishableWork({ id, workspace_id, queue, request_id, traceparent }: PublishableRow): PublishableWork {
  return { queue, job: { workspaceId: idOf('wsp', workspace_id), id, requestId: request_id, traceparent } }
}

/** Records that jobs for this work were added to the queue. Skips locked rows, which may be published once more. */
export async function markPublished(db: Db, uuids: readonly string[]): Promise<void> {
  const locked = sql`
    select id from outbox where id = any(${sql.param([...uuids])}::uuid[]) order by id for update skip locked`
  await db.update(outbox).set({ publishedAt: new Date() }).where(sql`id in (${locked})`)
}

/**
 * Deletes the rows that APIs of the previous release add for deliveries: deliveries no longer need outbox rows. For one
 * release only. Returns the number of deleted rows.
 */
export async function deleteOutboxRowsOfDeliveries(db: Db): Promise<number> {
  const result = await db.execute(sql`delete from outbox where queue = 'webhooks'`)
  return result.rowCount ?? 0
}
