import { inAccountTransaction } from '../auth/account-transaction.ts'
import { and, eq } from 'drizzle-orm'
import { union } from 'drizzle-orm/pg-core'
import type { Ctx } from '../request/context.ts'
import { audit } from '../audit/audit.ts'
import { deleteApiKeysByCreator, lowerApiKeysByCreator } from '../auth/api-keys.ts'
import { requireRoleNotAboveOwn } from '../auth/authenticate.ts'
import { requireUnchangedActor } from '../request/lock-actor.ts'
import { deleteUsersWithoutWorkspace, lockUsers } from '../auth/users.ts'
import { clearCompanyOwners } from '../companies/company-owners.ts'
import { lockContacts } from '../contacts/lock-contact.ts'
import { clearDealOwners, selectContactsOfDeals } from '../deals/deal-owners.ts'
import { conflict, notFound } from '../kernel/errors.ts'
import type { UserId } from '../kernel/ids.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { members, users } from '../db/schema/index.ts'
import { lockWorkspace } from '../workspaces/workspaces.ts'
import { selectContactsOfTasks, unassignTasks } from '../tasks/tasks.ts'
import { deleteInvitesByCreator } from './invites.ts'
import type { Timestamp } from '../kernel/values/timestamps.ts'
import type { Member, MemberChange, MemberQuery } from './team.schema.ts'

interface MemberRow extends Member {
  createdAt: Timestamp
}

/** Reads one member by the id of the user. */
export async function readMember(ctx: Ctx, userId: UserId): Promise<Member> {
  const [member] = await selectMembers(ctx).where(byUserId(ctx, userId))
  if (!member) throw notFound('User')
  return member
}

/** Returns a page of the members. */
export function listMembers(ctx: Ctx, query: MemberQuery): Promise<Page<Member>> {
  return readPage<MemberRow>(ctx, {
    name: 'members',
    query,
    ...byCreation<MemberRow>({ createdAt: members.createdAt, id: members.userId }),
    read: ({ after, orderBy, limit }) =>
      selectMembers(ctx)
        .where(and(eq(members.workspaceId, ctx.workspaceId), isCreatedInRange(members, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
}

/**
 * Changes the role of a member. Neither the old nor the new role may be above the actor's own. API keys that the member
 * created are lowered to the new role, and invites that the member could not create with it are deleted. Throws
 * `wrong_state` for the last OWNER.
 */
export function updateMember(ctx: Ctx, userId: UserId, { role }: MemberChange): Promise<Member> {
  return inAccountTransaction(ctx, async (ctx) => {
    requireRoleNotAboveOwn(ctx, role)
    const member = await lockMember(ctx, userId)
    if (role !== 'OWNER') await requireAnotherOwner(ctx, member)
    if (role === member.role) return member
    await ctx.db.update(members).set({ role }).where(byUserId(ctx, userId))
    await lowerApiKeysByCreator(ctx, userId, role)
    await deleteInvitesByCreator(ctx, userId, role)
    await audit(ctx, 'member.changed', { subjectId: userId, before: member.role, role })
    return { ...member, role }
  })
}

/**
 * Removes a member from the workspace and clears the assignee of their tasks, and the owner of their deals and companies.
 * Their notes keep their author. Their sessions in it, and the API keys and invites that they created, are deleted, and
 * the account too if this was its last workspace. Throws `wrong_state` for the last OWNER.
 */
export function removeMember(ctx: Ctx, userId: UserId): Promise<void> {
  return inAccountTransaction(ctx, async (ctx) => {
    const member = await lockMember(ctx, userId)
    await requireAnotherOwner(ctx, member)
    await lockUsers(ctx, [userId])
    await deleteMember(ctx, userId)
    await deleteApiKeysByCreator(ctx, userId)
    await deleteInvitesByCreator(ctx, userId)
    await deleteUsersWithoutWorkspace(ctx, [userId])
    await audit(ctx, 'member.removed', { subjectId: userId, email: member.email, role: member.role })
  })
}

async function deleteMember(ctx: Ctx, userId: UserId): Promise<void> {
  await lockContacts(ctx, union(selectContactsOfTasks(ctx, userId), selectContactsOfDeals(ctx, userId)))
  // Locked after the contacts, as in every change of a task or deal, so that none is assigned to the member from here on.
  await ctx.db.select({ userId: members.userId }).from(members).where(byUserId(ctx, userId)).for('update')
  await unassignTasks(ctx, userId)
  await clearDealOwners(ctx, userId)
  await clearCompanyOwners(ctx, userId)
  await ctx.db.delete(members).where(byUserId(ctx, userId))
}

/** Locks the workspace, so that two OWNERs cannot demote each other concurrently. */
async function lockMember(ctx: Ctx, userId: UserId): Promise<MemberRow> {
  await lockWorkspace(ctx)
  await requireUnchangedActor(ctx)
  const [member] = await selectMembers(ctx).where(byUserId(ctx, userId))
  if (!member) throw notFound('User')
  requireRoleNotAboveOwn(ctx, member.role)
  return member
}

async function requireAnotherOwner(ctx: Ctx, member: MemberRow): Promise<void> {
  if (member.role !== 'OWNER') return
  const owners = await ctx.db.$count(members, and(eq(members.workspaceId, ctx.workspaceId), eq(members.role, 'OWNER')))
  if (owners === 1) throw conflict('wrong_state', 'A workspace must have an OWNER, and this is the last one')
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

function byUserId(ctx: Ctx, userId: UserId) {
  return and(eq(members.workspaceId, ctx.workspaceId), eq(members.userId, userId))
}
