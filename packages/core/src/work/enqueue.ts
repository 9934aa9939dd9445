/**
 * Work begins with a row, written in the transaction of the change that causes it, and ends with the deletion of that
 * row, in the transaction that records the outcome. In between, it is published (`publisher.ts`, `publish.ts`) and
 * jobs claim it (`claims.ts`).
 */
import { and, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import { work } from '../db/schema/index.ts'
import { namedStatement, type Params } from '../db/statements/named-statement.ts'
import { arrayOf, int, nullable, required, text, timestamptz, uuid, type ValuesOf } from '../db/statements/sql-types.ts'
import { type IdOf, type IdPrefix, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { isDue, kindsOfWork, type WorkKind } from './kinds.ts'
import { hasPublisher, publishAfterCommit } from './publisher.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

/** The workspace whose work changes. */
export type WorkScope = Pick<Ctx, 'db' | 'workspaceId'>

/** Enqueues work in the caller's transaction. `id` is the id of the subject, such as a mail or an import. */
export const enqueue = (ctx: Ctx, kind: WorkKind, id: IdOf<IdPrefix>): Promise<void> => enqueueAll(ctx, kind, [id])

/** The parameters of `enqueueMany`. */
export const enqueueParams = {
  workspaceId: work.workspaceId,
  kind: required(work.kind),
  requestId: text,
  traceparent: nullable(text),
  limit: int,
  now: timestamptz,
}

export function toEnqueueParams(ctx: Ctx, kind: WorkKind): ValuesOf<typeof enqueueParams> {
  const { workspaceId, requestId, traceparent = null } = ctx
  const limit = hasPublisher(ctx.db) ? kindsOfWork[kind].published : 0
  return { workspaceId, kind, requestId, traceparent, limit, now: timestampNow() }
}

/**
 * Enqueues every `id` of the CTE `source`, as CTEs of the caller's statement. The caller selects `publishedUuids`, and
 * passes it to `publishEnqueued`.
 *
 * What this process publishes after the commit is written as published: work for which the workspace has capacity
 * left among its published jobs. The rest waits for the poll, so that workspaces take turns. As the poll does, this counts
 * all older work that is due. Concurrent transactions do not see each other's work and may publish a few too
 * many, which does no harm.
 */
export function enqueueMany(param: Params<typeof enqueueParams>, source: string): SQL {
  return sql`
    older as (
      select from work
      where workspace_id = ${param.workspaceId} and kind = ${param.kind} and ${isDue}
      limit ${param.limit}),
    enqueued as (
      insert into work (id, workspace_id, kind, request_id, traceparent, published_at)
      select id, ${param.workspaceId}, ${param.kind}, ${param.requestId}, ${param.traceparent},
        case when row_number() over (order by id) <= ${param.limit} - (select count(*) from older) then ${param.now} end
      from ${sql.identifier(source)}
      returning id, published_at)`
}

/** The UUIDs that `enqueueMany` has written as published. */
export const publishedUuids = sql`
  (select array_agg(id) from enqueued where published_at is not null) as published`
export const withPublished = { published: nullable(arrayOf(uuid)) }

/** Enqueues work for each id of the kind in the caller's transaction. */
export async function enqueueAll(ctx: Ctx, kind: WorkKind, ids: readonly IdOf<IdPrefix>[]): Promise<void> {
  if (ids.length === 0) return
  const [row] = await enqueueIds(ctx.db, { ...toEnqueueParams(ctx, kind), ids: ids.map(uuidOf) })
  publishEnqueued(ctx, kind, row?.published)
}

const enqueueIds = namedStatement('enqueue work', {
  params: { ...enqueueParams, ids: arrayOf(uuid) },
  columns: withPublished,
  sql: (param) => sql`
    with subject (id) as (select unnest(${param.ids})), ${enqueueMany(param, 'subject')}
    select ${publishedUuids}`,
})

/** Publishes what `enqueueMany` has written as published. */
export function publishEnqueued(ctx: Ctx, kind: WorkKind, uuids: readonly string[] | null | undefined): void {
  const { workspaceId, requestId, traceparent = null } = ctx
  for (const id of uuids ?? []) {
    publishAfterCommit(ctx.db, { workspaceId, kind, id, requestId, traceparent })
  }
}

/** Locks work of the workspace until the transaction ends, in the order of the ids, to prevent deadlocks. */
function selectForUpdate({ db, workspaceId }: WorkScope, condition: SQL | undefined) {
  const isOfWorkspace = eq(work.workspaceId, workspaceId)
  return db.select({ id: work.id }).from(work).where(and(isOfWorkspace, condition)).orderBy(work.id).for('update')
}

/** Before a transaction changes the work of several subjects with several statements. */
export async function lockWork(scope: WorkScope, uuids: readonly string[]): Promise<void> {
  await selectForUpdate(scope, inArray(work.id, [...uuids]))
}

/**
 * The condition for the work of the workspace that a statement changes: it locks the rows first. They are an array, as
 * PostgreSQL may execute a sub-select again for each row, and so lock rows out of order.
 */
export const lockedInOrder = (scope: WorkScope, condition: SQL | undefined): SQL | undefined =>
  and(eq(work.workspaceId, scope.workspaceId), sql`${work.id} = any(array(${selectForUpdate(scope, condition)}))`)

/** Deletes the work that no job has claimed, and returns its UUIDs. Call it in a transaction that has locked the subjects. */
export async function finishUnclaimedWork(scope: WorkScope, uuids: readonly string[]): Promise<string[]> {
  const isUnclaimed = and(inArray(work.id, [...uuids]), isNull(work.token))
  const finished = await scope.db.delete(work).where(lockedInOrder(scope, isUnclaimed)).returning({ id: work.id })
  return finished.map(({ id }) => id)
}

/** For a statement that does more: deletes the work of the subjects, as `finishWork`. */
export const finishMany = ({ workspaceId, ids }: Record<'workspaceId' | 'ids', SQL>): SQL => sql`
    delete from work where workspace_id = ${workspaceId} and id = any(array(
      select id from work where workspace_id = ${workspaceId} and id = any(${ids}) order by id for update))`

/**
 * Deletes work whose subject is done or deleted, whether it is claimed or not. Call it in the transaction that changes
 * the subject: no job claims work without its subject. Takes UUIDs of subjects.
 */
export async function finishWork(scope: WorkScope, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await scope.db.delete(work).where(lockedInOrder(scope, inArray(work.id, [...uuids])))
}
