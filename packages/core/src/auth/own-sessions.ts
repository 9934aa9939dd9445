import { inAccountTransaction } from './account-transaction.ts'
import { and, eq, gt, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import type { Ctx } from '../request/context.ts'
import { notFound } from '../kernel/errors.ts'
import type { SessionId, WorkspaceId } from '../kernel/ids.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { members, sessions, workspaces } from '../db/schema/index.ts'
import type { OpenSession, OwnWorkspace, SessionQuery, WorkspaceQuery } from './auth.schema.ts'
import { toWorkspace } from '../workspaces/workspaces.ts'
import { noUserId } from './users.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'

/** Returns a page of the open sessions of the current user, in all workspaces. Empty for an API key. */
export async function listSessions(ctx: Ctx, query: SessionQuery): Promise<Page<OpenSession>> {
  const columns = {
    id: sessions.id,
    workspaceId: sessions.workspaceId,
    expiresAt: sessions.expiresAt,
    createdAt: sessions.createdAt,
  }
  const page = await readPage<Pick<typeof sessions.$inferSelect, keyof typeof columns>>(ctx, {
    name: `sessions ${getOwnUserId(ctx)}`,
    query,
    ...byCreation(sessions),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select(columns)
        .from(sessions)
        .where(and(isOwnSession(ctx), gt(sessions.expiresAt, sql`now()`), isCreatedInRange(sessions, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  const current = ctx.actor.kind === 'user' ? ctx.actor.sessionId : undefined
  const data = page.data.map((row) => ({
    id: row.id,
    workspaceId: row.workspaceId,
    current: row.id === current,
    expiresAt: row.expiresAt,
    createdAt: row.createdAt,
  }))
  return { ...page, data }
}

/** Ends a session of the current user. Its token stops working immediately. */
export function deleteSession(ctx: Ctx, id: SessionId): Promise<void> {
  return inAccountTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .delete(sessions)
      .where(and(isOwnSession(ctx), eq(sessions.id, id)))
      .returning({ workspaceId: sessions.workspaceId })
    if (!row) throw notFound('Session')
    await audit({ ...ctx, workspaceId: row.workspaceId }, 'session.deleted', { subjectId: id })
  })
}

/** Returns a page of the workspaces of the current user, with the role in each. */
export async function listOwnWorkspaces(ctx: Ctx, query: WorkspaceQuery): Promise<Page<OwnWorkspace>> {
  const page = await readPage<OwnWorkspaceRow>(ctx, {
    name: `workspaces ${getOwnUserId(ctx)}`,
    query,
    ...byCreation<OwnWorkspaceRow>(workspaces),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select({ workspace: workspaces, id: workspaces.id, createdAt: workspaces.createdAt, role: members.role })
        .from(members)
        .innerJoin(workspaces, eq(workspaces.id, members.workspaceId))
        .where(and(eq(members.userId, getOwnUserId(ctx)), isCreatedInRange(workspaces, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(({ workspace, role }) => ({ ...toWorkspace(workspace), role })) }
}

interface OwnWorkspaceRow {
  workspace: typeof workspaces.$inferSelect
  id: WorkspaceId
  createdAt: Timestamp
  role: OwnWorkspace['role']
}

const getOwnUserId = ({ actor }: Ctx) => (actor.kind === 'user' ? actor.userId : noUserId)
const isOwnSession = (ctx: Ctx) => eq(sessions.userId, getOwnUserId(ctx))
