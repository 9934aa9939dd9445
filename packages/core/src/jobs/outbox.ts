/**
 * The outbox: one row for each piece of work, written in the transaction of the change that causes it and deleted when
 * the outcome is recorded. A relay publishes the rows: it adds a job for each row to its queue. Publishing a row twice
 * is harmless: the queue ignores a job that it still has, and a claim in PostgreSQL guards the work. Rows that still
 * exist some seconds after publishing are published again, so lost jobs need no tracking.
 */
import { and, eq, inArray, isNotNull, type SQL, sql } from 'drizzle-orm'
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

/** The workspace whose work changes. */
type WorkspaceWork = Pick<Ctx, 'db' | 'workspaceId'>

/** Deletes the rows of finished work. Call it in the transaction that records the outcome. Takes UUIDs of subjects. */
export async function finishWork({ db, workspaceId }: WorkspaceWork, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await db.delete(outbox).where(and(eq(outbox.workspaceId, workspaceId), inArray(outbox.id, [...uuids])))
}

/** Makes the relays publish released work again immediately. */
export async function requeueWork(ctx: WorkspaceWork, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await setPublishedAt(ctx, null, isOneOf(uuids))
  wakeForOutbox(ctx.db)
}

/** Makes the relays publish all delayed work of the workspace, in the caller's transaction. */
export async function requeueWorkOfWorkspace(ctx: Ctx): Promise<void> {
  await setPublishedAt(ctx, null)
  wakeForOutbox(ctx.db)
}

const delayMs = 600_000

/** Delays the publishing of paused work by ten minutes, unless it is requeued earlier. */
export async function delayWork(ctx: WorkspaceWork, uuids: readonly string[]): Promise<void> {
  await setPublishedAt(ctx, inTenMinutes(), isOneOf(uuids))
}

/**
 * Delays work that a job could not claim, because it is paused or claimed by another worker. Does nothing if the work
 * was requeued in the meantime and is not published yet.
 */
export async function delayUnclaimableWork(ctx: WorkspaceWork, uuid: string): Promise<void> {
  await setPublishedAt(ctx, inTenMinutes(), and(eq(outbox.id, uuid), isNotNull(outbox.publishedAt)))
}

const inTenMinutes = () => new Date(Date.now() + delayMs)
const isOneOf = (uuids: readonly string[]) => sql`${outbox.id} = any(${sql.param([...uuids])}::uuid[])`

/** Locks the rows in the order of their ids to prevent deadlocks. */
async function setPublishedAt(
  { db, workspaceId }: WorkspaceWork,
  publishedAt: Date | null,
  condition?: SQL,
): Promise<void> {
  const isOfWorkspace = eq(outbox.workspaceId, workspaceId)
  const locked = db
    .select({ id: outbox.id })
    .from(outbox)
    .where(and(isOfWorkspace, condition))
    .orderBy(outbox.id)
    .for('update')
  await db
    .update(outbox)
    .set({ publishedAt })
    .where(and(isOfWorkspace, inArray(outbox.id, locked)))
}

/** The UUID of a subject with its workspace, for callers that handle several workspaces. */
export type WorkOfWorkspace = Pick<WorkJob, 'workspaceId' | 'id'>

/**
 * Calls `change` with the UUIDs of each workspace, because a statement changes the outbox of one workspace. The order
 * of the workspaces prevents deadlocks.
 */
export async function changeByWorkspace(
  db: Db,
  work: readonly WorkOfWorkspace[],
  change: (ctx: WorkspaceWork, uuids: string[]) => Promise<void>,
): Promise<void> {
  const groups = Map.groupBy(work, ({ workspaceId }) => workspaceId)
  for (const workspaceId of [...groups.keys()].toSorted()) {
    await change({ db, workspaceId }, groups.get(workspaceId)?.map(({ id }) => id) ?? [])
  }
}

/**
 * The maximum number of published jobs per workspace and queue. The rest waits in the outbox, which ensures fair
 * sharing between workspaces: a queue itself is first in, first out.
 */
const publishedPerWorkspace: Record<OutboxQueue, number> = { campaigns: 20, mail: 100, imports: 4, maintenance: 20 }

/** After this time a published row that still exists is published again: Redis may have lost the job. */
export const republishMs = 10_000

/** A job to be added to a queue. */
export interface PublishableWork {
  queue: OutboxQueue
  job: WorkJob
}

/**
 * Finds the work to publish: the oldest rows of each workspace and queue that were not published recently. Workspaces
 * take turns: the oldest row of each comes before the second one of any. One pass over the waiting rows finds their
 * workspaces, which takes 15 ms for 100,000 rows. Campaigns and imports of suspended workspaces are skipped. Single
 * mails are not, because the claim lets password resets pass.
 */
export async function findPublishableWork(db: Db, republishAfterMs = republishMs): Promise<PublishableWork[]> {
  const now = new Date()
  const limits = JSON.stringify(publishedPerWorkspace)
  const result = await db.execute<PublishableRow>(sql`
    select work.* from (
      select distinct queue, workspace_id, suspended_at is not null as is_suspended
      from outbox join workspaces w on w.id = workspace_id) backlog
    cross join lateral (
      select id, workspace_id, o.queue, published_at, request_id, traceparent, created_at,
        row_number() over (partition by workspace_id order by created_at, id) as turn from outbox o
      where o.queue = backlog.queue and o.workspace_id = backlog.workspace_id
        and (published_at is null or published_at <= ${now.toISOString()})
        and (not backlog.is_suspended or o.queue in ('mail', 'maintenance'))
      order by created_at, id limit coalesce((${limits}::json ->> backlog.queue)::int, 0)) work
    where published_at is null or published_at < ${new Date(now.getTime() - republishAfterMs).toISOString()}
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
export function markPublished(db: Db, work: readonly WorkOfWorkspace[]): Promise<void> {
  return changeByWorkspace(db, work, markPublishedInWorkspace)
}

async function markPublishedInWorkspace({ db, workspaceId }: WorkspaceWork, uuids: string[]): Promise<void> {
  const isOfWorkspace = eq(outbox.workspaceId, workspaceId)
  const unlocked = db
    .select({ id: outbox.id })
    .from(outbox)
    .where(and(isOfWorkspace, isOneOf(uuids)))
    .orderBy(outbox.id)
    .for('update', { skipLocked: true })
  await db
    .update(outbox)
    .set({ publishedAt: new Date() })
    .where(and(isOfWorkspace, inArray(outbox.id, unlocked)))
}
