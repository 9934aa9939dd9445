import { and, asc, desc, eq, exists, gt, inArray } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { auditEntries, members, type Role, users, workspaces } from '../db/schema/index.ts'
import type { UserId, WorkspaceId } from '../kernel/ids.ts'
import type { User } from './auth.schema.ts'
import { toUser } from './users.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'

export interface UserOverview extends User {
  /** The last login in the audit log; null if it has none. */
  lastLoginAt: string | null
  workspaces: { id: WorkspaceId; name: string; role: Role }[]
}

const pageSize = 500

/** Lists the accounts of the installation, or of one workspace, oldest first. Yields a page at a time. */
export async function* listUsers(
  db: Db,
  { workspaceId }: { workspaceId?: WorkspaceId | undefined } = {},
): AsyncGenerator<UserOverview[]> {
  const isMember = exists(
    db
      .select()
      .from(members)
      .where(and(eq(members.userId, users.id), workspaceId && eq(members.workspaceId, workspaceId))),
  )
  for (let last: UserId | undefined; ; ) {
    const page = await db
      .select()
      .from(users)
      .where(and(last && gt(users.id, last), workspaceId && isMember))
      .orderBy(asc(users.id))
      .limit(pageSize)
    if (page.length > 0) yield await withWorkspaces(db, page)
    last = page.at(-1)?.id
    if (page.length < pageSize) return
  }
}

async function withWorkspaces(db: Db, page: (typeof users.$inferSelect)[]): Promise<UserOverview[]> {
  const ids = page.map(({ id }) => id)
  const memberships = await db
    .select({ userId: members.userId, id: members.workspaceId, name: workspaces.name, role: members.role })
    .from(members)
    .innerJoin(workspaces, eq(workspaces.id, members.workspaceId))
    .where(inArray(members.userId, ids))
    .orderBy(members.createdAt, members.workspaceId)
  const workspacesOf = Map.groupBy(memberships, ({ userId }) => userId)
  const lastLogins = await readLastLogins(db, memberships)
  return page.map((user) => ({
    ...toUser(user),
    lastLoginAt: lastLogins.get(user.id) ?? null,
    workspaces: (workspacesOf.get(user.id) ?? []).map(({ id, name, role }) => ({ id, name, role })),
  }))
}

/** Reads the last login of each of these members in the audit log of its workspace: the latest one by user. */
async function readLastLogins(
  db: Db,
  memberships: readonly { userId: UserId; id: WorkspaceId }[],
): Promise<Map<UserId, Timestamp>> {
  const lastLogins = new Map<UserId, Timestamp>()
  for (const { id, userId } of memberships) {
    const { workspaceId, actorId, action, createdAt } = auditEntries
    const [login] = await db
      .select({ at: createdAt })
      .from(auditEntries)
      .where(and(eq(workspaceId, id), eq(actorId, userId), eq(action, 'session.created')))
      .orderBy(desc(createdAt))
      .limit(1)
    const known = lastLogins.get(userId)
    if (login && (!known || known < login.at)) lastLogins.set(userId, login.at)
  }
  return lastLogins
}
