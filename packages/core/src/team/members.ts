import { and, eq } from 'drizzle-orm'
import { type Ctx, inTransaction } from '../request/context.ts'
import { audit } from '../audit/audit.ts'
import { deleteApiKeysOf } from '../auth/api-keys.ts'
import { requireAtMostOwn } from '../auth/authenticate.ts'
import { deleteHomelessUsers, lockUsers } from '../auth/users.ts'
import { conflict, notFound } from '../kernel/errors.ts'
import { toTimestamp } from '../kernel/validation.ts'
import type { UserId } from '../kernel/ids.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { members, type Role, users, workspaces } from '../db/schema/index.ts'
import { deleteInvitesOf } from './invites.ts'
import type { Member, MemberChange, MemberQuery, MemberRemoval } from './team.schema.ts'

interface MemberRow {
  id: UserId
  email: string
  name: string
  role: Role
  createdAt: Date
}

/** A page of the people in the workspace. */
export async function listMembers(ctx: Ctx, query: MemberQuery): Promise<Page<Member>> {
  const page = await readPage<MemberRow>(ctx, {
    name: 'members',
    query,
    ...byCreation<MemberRow>({ createdAt: members.createdAt, id: members.userId }),
    read: ({ after, orderBy, limit }) =>
      selectMembers(ctx)
        .where(and(eq(members.workspaceId, ctx.workspaceId), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toMember) }
}

/**
 * Gives somebody another role, at most one's own and not to who has more. Invites of theirs that they could not make with
 * it are taken back. The last OWNER stays one: a conflict.
 */
export function updateMember(ctx: Ctx, userId: UserId, { role }: MemberChange): Promise<Member> {
  return inTransaction(ctx, async (ctx) => {
    requireAtMostOwn(ctx, role)
    const member = await lockMember(ctx, userId)
    if (role !== 'OWNER') await keepAnOwner(ctx, member)
    if (role === member.role) return toMember(member)
    await ctx.db.update(members).set({ role }).where(matches(ctx, userId))
    await deleteInvitesOf(ctx, userId, role)
    await audit(ctx, 'member.changed', { subjectId: userId, before: member.role, role })
    return toMember({ ...member, role })
  })
}

/**
 * Takes somebody out of the workspace; their sessions in it end at once, the invites they made are taken back, and with
 * their last workspace their account goes. API keys that they made belong to the workspace, where programs use them: they
 * stay, unless these are to go as well. The last OWNER stays: a conflict.
 */
export function removeMember(ctx: Ctx, userId: UserId, { revokeApiKeys }: MemberRemoval = {}): Promise<void> {
  return inTransaction(ctx, async (ctx) => {
    const member = await lockMember(ctx, userId)
    await keepAnOwner(ctx, member)
    await lockUsers(ctx, [userId])
    await ctx.db.delete(members).where(matches(ctx, userId))
    await deleteInvitesOf(ctx, userId)
    if (revokeApiKeys) await deleteApiKeysOf(ctx, userId)
    await deleteHomelessUsers(ctx, [userId])
    await audit(ctx, 'member.removed', { subjectId: userId, email: member.email, role: member.role })
  })
}

/** One change of a workspace's members at a time, so that two OWNERs cannot lower each other at once. */
async function lockMember(ctx: Ctx, userId: UserId): Promise<MemberRow> {
  await ctx.db
    .select({ id: workspaces.id })
    .from(workspaces)
    .where(eq(workspaces.id, ctx.workspaceId))
    .for('no key update')
  const [member] = await selectMembers(ctx).where(matches(ctx, userId))
  if (!member) throw notFound('User')
  requireAtMostOwn(ctx, member.role)
  return member
}

async function keepAnOwner(ctx: Ctx, member: MemberRow): Promise<void> {
  if (member.role !== 'OWNER') return
  const owners = await ctx.db.$count(members, and(eq(members.workspaceId, ctx.workspaceId), eq(members.role, 'OWNER')))
  if (owners === 1) throw conflict('A workspace needs an OWNER, and this is the last')
}

function selectMembers(ctx: Ctx) {
  return ctx.db
    .select({
      id: users.id,
      email: users.email,
      name: users.name,
      role: members.role,
      createdAt: members.createdAt,
    })
    .from(members)
    .innerJoin(users, eq(users.id, members.userId))
}

function matches(ctx: Ctx, userId: UserId) {
  return and(eq(members.workspaceId, ctx.workspaceId), eq(members.userId, userId))
}

function toMember(row: MemberRow): Member {
  return { ...row, createdAt: toTimestamp(row.createdAt) }
}
