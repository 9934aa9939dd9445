/**
 * Work begins with a row, written in the transaction of the change that causes it, and ends with the deletion of that
 * row, in the transaction that records the outcome. In between, relays publish it (`publish.ts`) and jobs claim it
 * (`claims.ts`).
 */
import { and, eq, inArray, isNull, type SQL, sql } from 'drizzle-orm'
import { work } from '../db/schema/index.ts'
import { type IdOf, type IdPrefix, uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import type { WorkKind } from './kinds.ts'
import { wakeForWork } from './wake-relays.ts'

/** The workspace whose work changes. */
export type WorkspaceWork = Pick<Ctx, 'db' | 'workspaceId'>

/** Enqueues work in the caller's transaction. `id` is the id of the subject, such as a mail or an import. */
export async function enqueue(ctx: Ctx, kind: WorkKind, id: IdOf<IdPrefix>): Promise<void> {
  const { requestId, traceparent = null } = ctx
  await ctx.db.insert(work).values({ id: uuidOf(id), workspaceId: ctx.workspaceId, kind, requestId, traceparent })
  wakeForWork(ctx.db)
}

/**
 * Enqueues every `workspace_id` and `id` of the CTE `source`, as a CTE of the caller's statement. The caller calls
 * `wakeForWork` afterwards.
 */
export function enqueueMany(ctx: Ctx, kind: WorkKind, source: string): SQL {
  return sql`
    enqueued as (
      insert into work (id, workspace_id, kind, request_id, traceparent)
      select id, workspace_id, ${kind}, ${ctx.requestId}, ${ctx.traceparent ?? null} from ${sql.identifier(source)})`
}

/** Deletes the work that no job has claimed, and returns its UUIDs. Call it in a transaction that has locked the subjects. */
export async function finishUnclaimedWork(
  { db, workspaceId }: WorkspaceWork,
  uuids: readonly string[],
): Promise<string[]> {
  const finished = await db
    .delete(work)
    .where(and(eq(work.workspaceId, workspaceId), inArray(work.id, [...uuids]), isNull(work.token)))
    .returning({ id: work.id })
  return finished.map(({ id }) => id)
}

/**
 * Deletes work whose subject is done or deleted, whether it is claimed or not. Call it in the transaction that changes
 * the subject: no job claims work without its subject. Takes UUIDs of subjects.
 */
export async function finishWork({ db, workspaceId }: WorkspaceWork, uuids: readonly string[]): Promise<void> {
  if (uuids.length === 0) return
  await db.delete(work).where(and(eq(work.workspaceId, workspaceId), inArray(work.id, [...uuids])))
}
