/**
 * The outbox: a row for each piece of work, written in the transaction of the change that asks for it and deleted with the
 * outcome. A relay publishes the rows, which adds a job for each to its queue. Publishing twice is harmless: the queue
 * ignores a job that it still has, and a claim in PostgreSQL guards the work. So no row needs to record which jobs a queue
 * has lost: rows that were published some seconds ago and are still here are published again.
 */
import { inArray, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { outbox } from '../db/schema/index.ts'
import { type IdOf, idOf, type IdPrefix, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { OutboxQueue, WorkJob } from './queues.ts'
import { wakeForOutbox } from './wake-relays.ts'

/** Enqueues work in the caller's transaction: it exists if, and only if, that commits. `id` is its subject's. */
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

/** Deletes the rows of work whose outcome is recorded in the same transaction. UUIDs of the subjects. */
export async function finishWork(db: Db, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await db.delete(outbox).where(inArray(outbox.id, [...uuids]))
}

/** Has the relays publish released work again at once. */
export async function requeueWork(db: Db, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await setPublishedAt(db, null, sql`id = any(${sql.param([...uuids])}::uuid[])`)
  wakeForOutbox(db)
}

const delayMs = 600_000

/** Keeps the relays from publishing work for ten minutes, unless it is requeued: for work that is paused. */
export async function delayWork(db: Db, uuids: readonly string[]): Promise<void> {
  await setPublishedAt(db, inTenMinutes(), sql`id = any(${sql.param([...uuids])}::uuid[])`)
}

/**
 * The same for a job that cannot claim its subject, as that is paused or claimed by another worker. Work that has been
 * requeued in the meantime, and not published since, is left as it is.
 */
export async function delayUnclaimableWork(db: Db, uuid: string): Promise<void> {
  await setPublishedAt(db, inTenMinutes(), sql`id = ${uuid} and published_at is not null`)
}

const inTenMinutes = () => new Date(Date.now() + delayMs)

/** Locks the rows in the order of their ids, so that two statements do not deadlock. */
async function setPublishedAt(db: Db, publishedAt: Date | null, condition: SQL): Promise<void> {
  const locked = sql`select id from outbox where ${condition} order by id for update`
  await db.update(outbox).set({ publishedAt }).where(sql`id in (${locked})`)
}

/**
 * How many jobs of one workspace a queue has at a time. The rest waits in the outbox, so that workspaces take turns: a
 * queue itself is first in, first out.
 */
const publishedPerWorkspace: Record<OutboxQueue, number> = { campaigns: 20, mail: 100, imports: 4, maintenance: 20 }

/** After this time a job that is not done may be lost, with the data of Redis for example. */
const republishMs = 10_000

/** Work to be added to its queue. */
export interface PublishableWork {
  queue: OutboxQueue
  job: WorkJob
}

/**
 * Finds the work to publish: of each workspace and queue the oldest rows, as far as they have not been published lately.
 * The first CTE steps from workspace to workspace in the index, so that the number of rows does not matter.
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
    join json_each_text(${limits}::json) as limits (queue, rows) on limits.queue = backlog.queue
    cross join lateral (
      select id, workspace_id, o.queue, published_at, request_id, traceparent from outbox o
      where o.queue = backlog.queue and o.workspace_id = backlog.workspace_id
        and (published_at is null or published_at <= ${now.toISOString()})
      order by created_at, id limit limits.rows::int) work
    where published_at is null or published_at < ${new Date(now.getTime() - republishMs).toISOString()}`)
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

/** Records that jobs for this work were added to its queue. A row that is locked may be published once more. */
export async function markPublished(db: Db, uuids: readonly string[]): Promise<void> {
  const locked = sql`
    select id from outbox where id = any(${sql.param([...uuids])}::uuid[]) order by id for update skip locked`
  await db.update(outbox).set({ publishedAt: new Date() }).where(sql`id in (${locked})`)
}

/**
 * Deletes the rows that APIs of the release before add for deliveries, whose own rows are the work. For one release.
 * Returns how many there were.
 */
export async function deleteOutboxRowsOfDeliveries(db: Db): Promise<number> {
  const result = await db.execute(sql`delete from outbox where queue = 'webhooks'`)
  return result.rowCount ?? 0
}
