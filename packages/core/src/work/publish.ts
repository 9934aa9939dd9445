/**
 * The poll publishes the work that no publisher has published (`publisher.ts`): it adds a job for each row to the queue
 * of its kind. Publishing a row twice is harmless: the queue ignores a job that it still has, and a claim guards the
 * work. Rows that are unclaimed some seconds after publishing are published again, so lost jobs need no tracking.
 */
import { and, eq, isNotNull, isNull, or, type SQL, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { namedStatement } from '../db/statements/named-statement.ts'
import { work } from '../db/schema/index.ts'
import { required, timestamptz } from '../db/statements/sql-types.ts'
import type { Ctx } from '../request/context.ts'
import { isStopped } from '../request/workspace-state.ts'
import { lockedInOrder, type WorkScope } from './enqueue.ts'
import { isDue, isNoDrain, kindsOfWork, passingSuspension, workKinds } from './kinds.ts'
import type { WorkJob } from './queues.ts'
import { timestampNow, timestampAt } from '../kernel/values/timestamps.ts'

/** Makes the next poll publish work again, or the next one after its claim is released. */
export async function requeueWork(ctx: WorkScope, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await setDueAt(ctx, atOnce, isOneOf(uuids))
}

/** Makes the next poll publish work again that is due, and that no job has claimed. It keeps its place. */
export async function unpublishWork(ctx: WorkScope, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  const isUnclaimed = and(isOneOf(uuids), isDue, isNull(work.token))
  await ctx.db.update(work).set({ publishedAt: null }).where(lockedInOrder(ctx, isUnclaimed))
}

/** As `requeueWork`, for work that no job has claimed. The row of a claim is not locked: a job that renews it does not wait. */
export async function requeueUnclaimedWork(ctx: WorkScope, uuids: readonly string[]): Promise<void> {
  await setDueAt(ctx, atOnce, and(isOneOf(uuids), isNull(work.token)))
}

/**
 * Makes the next poll publish all delayed work of the workspace, and what is published again, in the caller's
 * transaction. Parked work stays parked.
 */
export async function requeueWorkOfWorkspace(ctx: Ctx): Promise<void> {
  const isPublishedOrDelayed = or(isNotNull(work.publishedAt), sql`not (${isDue})`)
  await setDueAt(ctx, atOnce, and(isNoDrain, isNotNull(work.dueAt), isPublishedOrDelayed))
}

/** Keeps work from being published until it is requeued. Without that it would wait for ever. */
export async function parkWork(ctx: WorkScope, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await setDueAt(ctx, null, isOneOf(uuids))
}

/**
 * Delays the publishing of paused work by ten minutes, unless it is requeued earlier. Work that a job has claimed is left
 * to it, without a lock, as by `requeueUnclaimedWork`: see `delayUnclaimableWork`.
 */
export async function delayWork(ctx: WorkScope, uuids: readonly string[]): Promise<void> {
  await setDueAt(ctx, inTenMinutes, and(isOneOf(uuids), isNull(work.token)))
}

/**
 * Delays work that a job could not claim, because it is paused. Does nothing if another job has claimed it, or if it was
 * requeued, delayed or parked in the meantime and is not published yet.
 */
export async function delayUnclaimableWork(ctx: WorkScope, uuids: readonly string[]): Promise<void> {
  await setDueAt(ctx, inTenMinutes, and(isOneOf(uuids), isNotNull(work.publishedAt), isNull(work.token)))
}

/** In its former place among the others. */
const atOnce = sql`${work.createdAt}`
/** By the clock of PostgreSQL, as `isDue`. */
const inTenMinutes = sql`now() + interval '10 minutes'`
const isOneOf = (uuids: readonly string[]) => sql`${work.id} = any(${sql.param([...uuids])}::uuid[])`

async function setDueAt(scope: WorkScope, dueAt: SQL | null, condition: SQL | undefined): Promise<void> {
  await scope.db.update(work).set({ publishedAt: null, dueAt }).where(lockedInOrder(scope, condition))
}

/** The UUID of a subject with its workspace, for callers that handle several workspaces. */
type WorkKey = Pick<WorkJob, 'workspaceId' | 'id'>

/**
 * Calls `change` with the UUIDs of each workspace, because a statement changes the work of one workspace. The order of
 * the workspaces prevents deadlocks.
 */
export async function changeByWorkspace(
  db: Db,
  work: readonly WorkKey[],
  change: (ctx: WorkScope, uuids: string[]) => Promise<void>,
): Promise<void> {
  const groups = Map.groupBy(work, ({ workspaceId }) => workspaceId)
  for (const workspaceId of [...groups.keys()].toSorted()) {
    await change({ db, workspaceId }, groups.get(workspaceId)?.map(({ id }) => id) ?? [])
  }
}

const publishedPerKind = JSON.stringify(
  Object.fromEntries(workKinds.map((kind) => [kind, kindsOfWork[kind].published])),
)

/** After this time published work that no job has claimed is published again: Redis may have lost the job. */
export const republishMs = 10_000

/**
 * Finds the work to publish: of the rows of each workspace and kind that are due the longest, those that were not
 * published recently and are not claimed. Workspaces take turns: the first row of each comes before the second one of any.
 * One pass over all rows finds their workspaces, which takes 15 ms for 100,000 rows. Skips what waits in a suspended
 * or deleted workspace.
 */
export async function findPublishableWork(db: Db, republishAfterMs = republishMs): Promise<WorkJob[]> {
  return selectPublishable(db, { republishBefore: timestampAt(Date.now() - republishAfterMs) })
}

const selectPublishable = namedStatement('find publishable work', {
  params: { republishBefore: timestamptz },
  columns: {
    workspaceId: work.workspaceId,
    kind: required(work.kind),
    id: work.id,
    requestId: work.requestId,
    traceparent: work.traceparent,
  },
  sql: ({ republishBefore }) => sql`
    select due.workspace_id, due.kind, due.id, due.request_id, due.traceparent from (
      select distinct kind, workspace_id, ${isStopped} as is_stopped
      from work join workspaces w on w.id = workspace_id) backlog
    cross join lateral (
      select id, workspace_id, o.kind, published_at, token, request_id, traceparent, due_at,
        row_number() over (partition by workspace_id order by due_at, id) as turn from work o
      where o.kind = backlog.kind and o.workspace_id = backlog.workspace_id
        and ${isDue} and (not backlog.is_stopped or o.kind = any(${passingSuspension}))
        -- Jobs of emails take others along: those of a worker that died or hangs do not hold up the rest.
        and (o.kind <> 'EMAIL' or o.token is null)
      order by due_at, id limit coalesce((${publishedPerKind}::json ->> backlog.kind)::int, 0)) due
    where token is null
      and (published_at is null or published_at < ${republishBefore})
    order by turn, due_at`,
})

/**
 * Records that jobs for this work were added to the queue. Skips locked rows, which may be published once more. Even so,
 * PostgreSQL waits for a row that another transaction updates and a third one locks at that moment.
 */
export function markPublished(db: Db, work: readonly WorkKey[]): Promise<void> {
  return changeByWorkspace(db, work, markPublishedInWorkspace)
}

async function markPublishedInWorkspace({ db, workspaceId }: WorkScope, uuids: string[]): Promise<void> {
  const isOfWorkspace = eq(work.workspaceId, workspaceId)
  const unlocked = db
    .select({ id: work.id })
    .from(work)
    .where(and(isOfWorkspace, isOneOf(uuids)))
    .orderBy(work.id)
    .for('update', { skipLocked: true })
  await db
    .update(work)
    .set({ publishedAt: timestampNow() })
    .where(and(isOfWorkspace, sql`${work.id} = any(array(${unlocked}))`))
}
