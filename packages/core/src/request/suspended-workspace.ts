/** What a suspended workspace may not do: see `workspaces/suspension.ts`. */
import { and, eq, isNotNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { workspaces } from '../db/schema/index.ts'
import { AppError } from '../kernel/errors.ts'
import type { Ctx } from './context.ts'

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
export const isOfStoppedWorkspace = sql`workspace_id in (select id from workspaces where ${isStopped})`

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
