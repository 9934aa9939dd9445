/** What a suspended workspace may not do: see `workspaces/suspension.ts`. */
import { and, eq, isNotNull, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { workspaces } from '../db/schema/index.ts'
import { AppError } from '../kernel/errors.ts'
import type { Ctx } from './context.ts'

/**
 * A condition on the `workspace_id` of a record: its workspace is suspended. A scalar subquery, because PostgreSQL may
 * run EXISTS as a scan of all workspaces.
 */
export function isInSuspendedWorkspace(workspaceId: SQLWrapper): SQL<boolean> {
  return sql<boolean>`coalesce((
    select suspended.suspended_at is not null from workspaces suspended where suspended.id = ${workspaceId}), false)`
}

/**
 * A condition on a row with `workspace_id`, for statements that read all workspaces: its workspace is suspended. Not
 * correlated, so that PostgreSQL runs the sub-select once.
 */
export const isOfSuspendedWorkspace = sql`workspace_id in (select id from workspaces where suspended_at is not null)`

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
