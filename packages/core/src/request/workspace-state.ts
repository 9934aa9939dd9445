/**
 * Whether a workspace is suspended or deleted. What a suspended workspace may not do: see `workspaces/suspension.ts`. A
 * deleted workspace is not public any more: its forms, lists and email links stop working immediately, although the
 * worker deletes the records later. Its credentials are deleted immediately.
 */
import { and, eq, isNotNull, isNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { workspaces } from '../db/schema/index.ts'
import { AppError } from '../kernel/errors.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'
import type { Ctx } from './context.ts'

/** A condition on the `workspace_id` of a record, for the statement that looks it up: its workspace is not deleted. */
export function isInLiveWorkspace(workspaceId: SQLWrapper): SQL {
  return sql`not exists (select from workspaces live where live.id = ${workspaceId} and live.deleted_at is not null)`
}

/** A condition on the `workspace_id` of a record: its workspace is suspended. */
export const isInSuspendedWorkspace = (workspaceId: SQLWrapper): SQL<boolean> =>
  checkWorkspace(workspaceId, sql`suspended_at is not null`)

/** The same, or its workspace is deleted, so that it sends nothing while the worker deletes its rows. */
export const isInStoppedWorkspace = (workspaceId: SQLWrapper): SQL<boolean> => checkWorkspace(workspaceId, isStopped)

/** A condition on a row of `workspaces`. */
export const isStopped = sql`(suspended_at is not null or deleted_at is not null)`

/** A scalar subquery, because PostgreSQL may run EXISTS as a scan of all workspaces. */
const checkWorkspace = (workspaceId: SQLWrapper, condition: SQL) =>
  sql<boolean>`coalesce((select ${condition} from workspaces checked where checked.id = ${workspaceId}), false)`

/**
 * A condition on a row with `workspace_id`, for statements that read all workspaces: its workspace is suspended or
 * deleted. Not correlated, so that PostgreSQL runs the sub-select once.
 */
export const isAmongStoppedWorkspaces = sql`workspace_id in (select id from workspaces where ${isStopped})`

export async function isLiveWorkspace(ctx: Pick<Ctx, 'db' | 'workspaceId'>): Promise<boolean> {
  return (await ctx.db.$count(workspaces, and(eq(workspaces.id, ctx.workspaceId), isNull(workspaces.deletedAt)))) > 0
}

/** When the workspace was deleted; null if it is live. Undefined if there is none, or no more: its row is deleted last. */
export async function readDeletedAt(ctx: Pick<Ctx, 'db' | 'workspaceId'>): Promise<Timestamp | null | undefined> {
  const [found] = await ctx.db
    .select({ deletedAt: workspaces.deletedAt })
    .from(workspaces)
    .where(eq(workspaces.id, ctx.workspaceId))
  return found?.deletedAt
}

/** Throws `workspace_suspended` if the workspace is suspended. */
export async function requireNotSuspended(ctx: Ctx): Promise<void> {
  if (await isSuspended(ctx)) throw workspaceSuspended()
}

export async function isSuspended(ctx: Ctx): Promise<boolean> {
  const isSuspended = and(eq(workspaces.id, ctx.workspaceId), isNotNull(workspaces.suspendedAt))
  return (await ctx.db.$count(workspaces, isSuspended)) > 0
}

export const workspaceSuspended = () =>
  new AppError('workspace_suspended', 'The operator has suspended this workspace: it can be read, but not changed')
