import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { byId } from '../request/by-id.ts'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { inTransaction } from '../request/context.ts'
import { AppError, conflict, invalidToken, notFound, onConstraint } from '../kernel/errors.ts'
import { toTimestamp } from '../kernel/validation.ts'
import { type InviteId, newId, type UserId } from '../kernel/ids.ts'
import { requireRoleNotAboveOwn } from '../auth/authenticate.ts'
import { lockCreator } from '../auth/lock-creator.ts'
import { verifyCredentials } from '../auth/login-throttle.ts'
import { checkPassword, hashPassword } from '../auth/passwords.ts'
import { createUser, findUserByEmail, markEmailVerified } from '../auth/users.ts'
import { renderServiceMail } from '../mail/service-mail.ts'
import { enqueueMail, type Mail, throttleInvites } from '../mail/mails.ts'
import { toHeaderText, type OutgoingMail } from '../mail/outgoing-mail.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { invites, members, type Role, roles, users, workspaces } from '../db/schema/index.ts'
import { hashToken, deriveMailToken, findStoredMailToken } from '../kernel/crypto.ts'
import type { AcceptInviteInput, Invite, InviteInput, InviteQuery } from './team.schema.ts'

type InviteRow = typeof invites.$inferSelect

const inSevenDays = sql`now() + interval '7 days'`

/**
 * Asks somebody by mail to join, with at most one's own role. Who is in already, or was asked already, is a conflict. An
 * address is mailed at most once in ten minutes and three times a day by one workspace: more is `throttled`.
 */
export function createInvite(ctx: Ctx, input: InviteInput): Promise<Invite> {
  return inTransaction(ctx, async (ctx) => {
    requireRoleNotAboveOwn(ctx, input.role)
    if (await isMember(ctx, input.email)) throw conflict('They are a member already')
    const id = newId('inv')
    const tokenHash = hashToken(deriveMailToken(ctx.settings.keys, 'rpi', toTokenSeed({ id, resends: 0 })))
    const createdBy = await lockCreator(ctx)
    const [row] = await ctx.db
      .insert(invites)
      .values({ ...input, workspaceId: ctx.workspaceId, id, tokenHash, createdBy, expiresAt: inSevenDays })
      .returning()
      .catch(onConstraint('invites_email_key', () => conflict('They have an invite already: resend or delete it')))
    if (!row) throw new Error('INSERT … RETURNING returned nothing')
    await throttleInvites(ctx, row.email)
    await enqueueMail(ctx, { kind: 'INVITE', to: row.email, data: { inviteId: id } })
    await audit(ctx, 'invite.created', { subjectId: id, email: row.email, role: row.role })
    return toInvite(row)
  })
}

/**
 * Mails a new link, good for seven days; the one before is dead at once. Of at most one's own role, and no more often than
 * an invite is.
 */
export function resendInvite(ctx: Ctx, id: InviteId): Promise<Invite> {
  return inTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .update(invites)
      .set({ resends: sql`${invites.resends} + 1`, expiresAt: inSevenDays })
      .where(byId(invites, ctx, id))
      .returning()
    if (!row) throw notFound('Invite')
    requireRoleNotAboveOwn(ctx, row.role)
    await throttleInvites(ctx, row.email)
    const tokenHash = hashToken(deriveMailToken(ctx.settings.keys, 'rpi', toTokenSeed(row)))
    await ctx.db
      .update(invites)
      .set({ tokenHash })
      .where(byId(invites, ctx, id))
    await enqueueMail(ctx, { kind: 'INVITE', to: row.email, data: { inviteId: id } })
    await audit(ctx, 'invite.resent', { subjectId: id, email: row.email })
    return toInvite(row)
  })
}

/** A page of the invites that wait to be accepted. */
export async function listInvites(ctx: Ctx, query: InviteQuery): Promise<Page<Invite>> {
  const page = await readPage<InviteRow>(ctx, {
    name: 'invites',
    query,
    ...byCreation<InviteRow>(invites),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(invites)
        .where(and(eq(invites.workspaceId, ctx.workspaceId), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toInvite) }
}

/** Takes an invite back, of at most one's own role: its link is dead at once. */
export async function deleteInvite(ctx: Ctx, id: InviteId): Promise<void> {
  await inTransaction(ctx, async (ctx) => {
    const [row] = await ctx.db
      .delete(invites)
      .where(byId(invites, ctx, id))
      .returning()
    if (!row) throw notFound('Invite')
    requireRoleNotAboveOwn(ctx, row.role)
    await audit(ctx, 'invite.deleted', { subjectId: id, email: row.email })
  })
}

/**
 * Takes back, in the caller's transaction, the invites of somebody who may not make them any more: all, or with a role
 * that is left to them those of more than it.
 */
export async function deleteInvitesByCreator(ctx: Ctx, userId: UserId, remainingRole: Role = 'VIEWER'): Promise<void> {
  const canInvite = roles.indexOf(remainingRole) >= roles.indexOf('ADMIN')
  const forbiddenRoles = canInvite ? roles.slice(roles.indexOf(remainingRole) + 1) : roles
  const deleted = await ctx.db
    .delete(invites)
    .where(
      and(
        eq(invites.workspaceId, ctx.workspaceId),
        eq(invites.createdBy, userId),
        inArray(invites.role, [...forbiddenRoles]),
      ),
    )
    .returning()
  for (const { id, email } of deleted) await audit(ctx, 'invite.deleted', { subjectId: id, email })
}

/**
 * Joins by the token of a mail, which is good once. Makes the user; who exists already proves by their own password that
 * it is them, and keeps it.
 */
export async function acceptInvite(base: BaseCtx, { token, password, name }: AcceptInviteInput): Promise<void> {
  const isValidToken = and(eq(invites.tokenHash, hashToken(token)), gt(invites.expiresAt, sql`now()`))
  const [invite] = await base.db.select().from(invites).where(isValidToken)
  if (!invite) throw invalidToken()
  const existingUser = await findUserByEmail(base, invite.email)
  if (existingUser && !(await verifyCredentials(base, existingUser.email, password))) {
    throw new AppError('unauthenticated', 'This address has an account: its password is needed')
  }
  if (!existingUser) checkPassword(password, invite.email)
  const passwordHash = existingUser ? existingUser.passwordHash : await hashPassword(password)
  await inTransaction(base, async (base) => {
    const [accepted] = await base.db.delete(invites).where(isValidToken).returning()
    if (!accepted) throw invalidToken()
    const user = existingUser ?? (await createUser(base, { email: accepted.email, name, passwordHash }))
    await base.db
      .insert(members)
      .values({ workspaceId: accepted.workspaceId, userId: user.id, role: accepted.role })
      .onConflictDoNothing()
      // Whose last workspace is gone is gone as well: since a moment ago there is nobody with this address.
      .catch(onConstraint('members_user_id_users_id_fk', () => conflict('The account is gone: accept once more')))
    // The token came to the address, and the password is theirs.
    await markEmailVerified(base, user.id)
    const ctx: Ctx = {
      ...base,
      workspaceId: accepted.workspaceId,
      actor: { kind: 'user', userId: user.id, role: accepted.role },
    }
    await audit(ctx, 'invite.accepted', { subjectId: accepted.id, role: accepted.role })
  })
}

/** The mail with the link; undefined when the invite was used or taken back meanwhile. */
export async function renderInviteMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const id = mail.data.inviteId
  if (!id) return undefined
  const [found] = await ctx.db
    .select({ workspace: workspaces.name, id: invites.id, resends: invites.resends, tokenHash: invites.tokenHash })
    .from(invites)
    .innerJoin(workspaces, eq(workspaces.id, invites.workspaceId))
    .where(byId(invites, ctx, id))
  const token =
    found && findStoredMailToken(ctx.settings.keys, 'rpi', { id: toTokenSeed(found), tokenHash: found.tokenHash })
  if (!token) return undefined
  return renderServiceMail(ctx, mail, {
    from: { name: toHeaderText(found.workspace), address: ctx.settings.mailFrom },
    title: `Join ${found.workspace}`,
    paragraphs: [`You are invited to work in “${found.workspace}”.`],
    button: {
      label: 'Accept the invite',
      url: `${ctx.settings.publicUrl}/accept-invite?token=${token}`,
    },
    small: 'The link is good for seven days, and once. If you do not know what this is about, ignore this mail.',
  })
}

async function isMember(ctx: Ctx, email: string): Promise<boolean> {
  const found = await ctx.db
    .select({ id: users.id })
    .from(members)
    .innerJoin(users, eq(users.id, members.userId))
    .where(and(eq(members.workspaceId, ctx.workspaceId), sql`lower(${users.email}) = lower(${email})`))
  return found.length > 0
}

/** What its token is made from: each mail has one of its own. */
function toTokenSeed({ id, resends }: Pick<InviteRow, 'id' | 'resends'>): string {
  return resends === 0 ? id : `${id} ${resends}`
}

function toInvite(row: InviteRow): Invite {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    createdBy: row.createdBy,
    expiresAt: toTimestamp(row.expiresAt),
    createdAt: toTimestamp(row.createdAt),
  }
}
