import { and, asc, eq, exists, gt, inArray, sql } from 'drizzle-orm'
import type { Db } from '../db/client.ts'
import { members, type Role, users, workspaces } from '../db/schema/index.ts'
import { type UserId, uuidOf, type WorkspaceId } from '../kernel/ids.ts'
import { timestampOf } from '../kernel/validation.ts'
import type { User } from './auth.schema.ts'
import { toUser } from './users.ts'

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

/** Reads the logins of these members in the audit log. */
async function readLastLogins(
  db: Db,
  memberships: readonly { userId: UserId; id: WorkspaceId }[],
): Promise<Map<string, string>> {
  const { rows } = await db.execute<{ actor_id: string; at: string }>(sql`
    select m.actor_id, max(a.created_at) as at
    from unnest(
      ${sql.param(memberships.map(({ id }) => uuidOf(id)))}::uuid[],
      ${sql.param(memberships.map(({ userId }) => userId))}::text[]) as m (workspace_id, actor_id)
    join audit_entries a
      on a.workspace_id = m.workspace_id and a.actor_id = m.actor_id and a.action = 'session.created'
    group by m.actor_id`)
  return new Map(rows.map(({ actor_id, at }) => [actor_id, timestampOf(at)]))
}
