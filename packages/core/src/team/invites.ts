import { inAccountTransaction } from '../auth/account-transaction.ts'
import { and, eq, gt, inArray, sql } from 'drizzle-orm'
import { audit } from '../audit/audit.ts'
import { byId, lockById } from '../request/by-id.ts'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { publicContext } from '../request/context.ts'
import { onConstraint } from '../db/database-errors.ts'
import { AppError, conflict, invalidToken, notFound } from '../kernel/errors.ts'
import { type InviteId, newId, type UserId } from '../kernel/ids.ts'
import { requireRoleNotAboveOwn } from '../auth/authenticate.ts'
import { lockActor } from '../request/lock-actor.ts'
import { verifyCredentials } from '../auth/login-throttle.ts'
import { checkPassword, hashPassword } from '../auth/passwords.ts'
import { createUser, findUserByEmail, isMember, markEmailVerified } from '../auth/users.ts'
import { chooseMailLanguage } from '../kernel/values/languages.ts'
import { mailTexts } from '../mail/texts/mail-texts.ts'
import { renderServiceMail } from '../mail/service-mail.ts'
import { enqueueMail, type Mail } from '../mail/mails.ts'
import { toMailName } from '../mail/mail-names.ts'
import { requireMailQuota } from '../mail/mail-quotas.ts'
import { requireNotBlocked } from '../suppressions/email-block.ts'
import { requireVerifiedOwner } from '../mail/verified-owner.ts'
import { lockQuotas } from '../quotas/require-quota.ts'
import { type OutgoingMail, toHeaderText } from '../mail/outgoing-mail.ts'
import { byCreation, type Page, readPage } from '../request/paging.ts'
import { isCreatedInRange } from '../request/time-range.ts'
import { invites, members, type Role, roles, workspaces } from '../db/schema/index.ts'
import { hashToken, deriveMailToken, findStoredMailToken } from '../kernel/crypto.ts'
import { type Branding, brandingColumns } from '../workspaces/branding.ts'
import { lockWorkspace } from '../workspaces/workspaces.ts'
import { requireNotSuspended } from '../request/workspace-state.ts'
import type { AcceptInviteInput, Invite, InviteInput, InviteQuery } from './team.schema.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'

type InviteRow = typeof invites.$inferSelect

const inSevenDays = sql`now() + interval '7 days'`

/**
 * Emails an invite with at most the actor's own role. Throws `already_exists` if the address is already a member or
 * invited. Throws `quota_exceeded` if the workspace sent this address an invite within ten minutes, or three within a
 * day, or if it has used up its quotas of emails. Throws `forbidden` if no owner has verified an address, where the
 * operator requires this.
 */
export function createInvite(ctx: Ctx, input: InviteInput): Promise<Invite> {
  return inAccountTransaction(ctx, async (ctx) => {
    requireRoleNotAboveOwn(ctx, input.role)
    await requireVerifiedOwner(ctx)
    // Before other locks, in the order in which every creation takes them.
    await lockQuotas(ctx)
    if (await isMember(ctx, input.email)) throw conflict('already_exists', 'This address already belongs to a member')
    const id = newId('inv')
    const tokenHash = hashToken(deriveMailToken(ctx.settings.keys, 'rpi', toTokenSeed({ id, resends: 0 })))
    const createdBy = await lockActor(ctx)
    const [row] = await ctx.db
      .insert(invites)
      .values({ ...input, workspaceId: ctx.workspaceId, id, tokenHash, createdBy, expiresAt: inSevenDays })
      .returning()
      .catch(
        onConstraint('invites_email_key', () =>
          conflict('already_exists', 'This address already has an invite: resend or delete it'),
        ),
      )
    if (!row) throw new Error('INSERT … RETURNING returned nothing')
    await requireNotBlocked(ctx, row.email)
    await requireMailQuota(ctx, 'INVITE', row.email)
    await enqueueMail(ctx, { kind: 'INVITE', to: row.email, data: { inviteId: id } })
    await audit(ctx, 'invite.created', { subjectId: id, email: row.email, role: row.role })
    return toInvite(row)
  })
}

/**
 * Emails a new link that is valid for seven days and invalidates the previous link. The limits of `createInvite` apply.
 */
export function resendInvite(ctx: Ctx, id: InviteId): Promise<Invite> {
  return inAccountTransaction(ctx, async (ctx) => {
    await requireVerifiedOwner(ctx)
    await lockQuotas(ctx)
    await lockActor(ctx)
    const [row] = await ctx.db
      .update(invites)
      .set({ resends: sql`${invites.resends} + 1`, expiresAt: inSevenDays })
      .where(byId(invites, ctx, id))
      .returning()
    if (!row) throw notFound('Invite')
    requireRoleNotAboveOwn(ctx, row.role)
    await requireNotBlocked(ctx, row.email)
    await requireMailQuota(ctx, 'INVITE', row.email)
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

/** Reads one pending invite. */
export async function readInvite(ctx: Ctx, id: InviteId): Promise<Invite> {
  const [row] = await ctx.db
    .select()
    .from(invites)
    .where(byId(invites, ctx, id))
  if (!row) throw notFound('Invite')
  return toInvite(row)
}

/** Returns a page of the pending invites. */
export async function listInvites(ctx: Ctx, query: InviteQuery): Promise<Page<Invite>> {
  const page = await readPage<InviteRow>(ctx, {
    name: 'invites',
    query,
    ...byCreation<InviteRow>(invites),
    read: ({ after, orderBy, limit }) =>
      ctx.db
        .select()
        .from(invites)
        .where(and(eq(invites.workspaceId, ctx.workspaceId), isCreatedInRange(invites, query), after))
        .orderBy(...orderBy)
        .limit(limit),
  })
  return { ...page, data: page.data.map(toInvite) }
}

/** Locks an invite until the transaction ends. */
export const lockInvite = (ctx: Ctx, id: InviteId): Promise<void> => lockById(invites, ctx, id)

/** Deletes an invite with at most the actor's own role. Its link stops working immediately. */
export async function deleteInvite(ctx: Ctx, id: InviteId): Promise<void> {
  await inAccountTransaction(ctx, async (ctx) => {
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
 * Deletes the invites that the user created but may not create with `remainingRole`. Runs in the caller's transaction.
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
 * Finds the invite of a token, for the page of its link. Changes nothing. Throws `invalid_token` if the invite was
 * accepted or deleted, or has expired.
 */
export async function inspectInvite(base: BaseCtx, token: string): Promise<InviteOfLink> {
  const [invite] = await base.db
    .select({ email: invites.email, branding: brandingColumns })
    .from(invites)
    .innerJoin(workspaces, eq(workspaces.id, invites.workspaceId))
    .where(isValidInvite(token))
  if (!invite) throw invalidToken()
  return { ...invite, hasAccount: (await findUserByEmail(base, invite.email)) !== undefined }
}

interface InviteOfLink {
  email: string
  branding: Branding
  /** Whether the address belongs to a user, who must enter the existing password. */
  hasAccount: boolean
}

function isValidInvite(token: string) {
  return and(eq(invites.tokenHash, hashToken(token)), gt(invites.expiresAt, sql`now()`))
}

/**
 * Accepts an invite with the single-use token of the email. Creates a user if the address has no account. An existing
 * user must give their password, which remains unchanged.
 */
export async function acceptInvite(base: BaseCtx, { token, password, name }: AcceptInviteInput): Promise<void> {
  const [invite] = await base.db.select().from(invites).where(isValidInvite(token))
  if (!invite) throw invalidToken()
  await requireNotSuspended(publicContext(base, invite.workspaceId))
  const existingUser = await findUserByEmail(base, invite.email)
  if (existingUser && !(await verifyCredentials(base, existingUser.email, password))) {
    throw new AppError('unauthorized', 'This address already has an account: use its password')
  }
  if (!existingUser) checkPassword(password, invite.email)
  const passwordHash = existingUser?.passwordHash ?? (await hashPassword(password, base.settings.passwordCost))
  await inAccountTransaction(base, async (base) => {
    // Serializes with the deletion of the workspace: it removes the new member, or no invite is left here.
    await lockWorkspace(publicContext(base, invite.workspaceId))
    const [accepted] = await base.db.delete(invites).where(isValidInvite(token)).returning()
    if (!accepted) throw invalidToken()
    const user =
      existingUser ??
      (await createUser(base, {
        email: accepted.email,
        name,
        passwordHash,
        emailVerifiedAt: timestampNow(),
        by: 'invite',
      }))
    await base.db
      .insert(members)
      .values({ workspaceId: accepted.workspaceId, userId: user.id, role: accepted.role })
      .onConflictDoNothing()
      // The user was deleted with their last workspace after the look-up above.
      .catch(
        onConstraint('members_user_id_users_id_fk', () =>
          conflict('wrong_state', 'The account was deleted: accept the invite again'),
        ),
      )
    // The token proves access to the address, and the password access to the account.
    if (!user.emailVerifiedAt) await markEmailVerified(base, user.id)
    const ctx: Ctx = {
      ...base,
      workspaceId: accepted.workspaceId,
      actor: { kind: 'user', userId: user.id, role: accepted.role },
    }
    await audit(ctx, 'invite.accepted', { subjectId: accepted.id, role: accepted.role })
  })
}

/**
 * Renders the email with the link. Returns undefined if the invite was accepted or deleted. The email names the
 * workspace, but comes from `MAIL_FROM`: its bounce contains the link, which is for the owner of the address alone.
 */
export async function renderInviteMail(ctx: Ctx, mail: Mail): Promise<OutgoingMail | undefined> {
  const id = mail.data.inviteId
  if (!id) return undefined
  const [found] = await ctx.db
    .select({
      workspace: workspaces,
      id: invites.id,
      resends: invites.resends,
      tokenHash: invites.tokenHash,
    })
    .from(invites)
    .innerJoin(workspaces, eq(workspaces.id, invites.workspaceId))
    .where(byId(invites, ctx, id))
  const token =
    found && findStoredMailToken(ctx.settings.keys, 'rpi', { id: toTokenSeed(found), tokenHash: found.tokenHash })
  if (!token) return undefined
  const workspace = toMailName(found.workspace.name)
  const sender = toMailName(found.workspace.fromName ?? found.workspace.name)
  const language = chooseMailLanguage({ workspace: found.workspace.locale })
  const texts = mailTexts[language.language].invite
  return renderServiceMail(ctx, mail, {
    language,
    from: { name: toHeaderText(sender), address: ctx.settings.mailFrom },
    branding: found.workspace,
    title: texts.title(workspace),
    paragraphs: [texts.text(workspace)],
    button: {
      label: texts.button,
      url: `${ctx.settings.publicUrl}/accept-invite?token=${token}`,
    },
    small: texts.small,
  })
}

/** The token of each email is derived from a different seed. */
function toTokenSeed({ id, resends }: Pick<InviteRow, 'id' | 'resends'>): string {
  return resends === 0 ? id : `${id} ${resends}`
}

export function toInvite(row: InviteRow): Invite {
  return {
    id: row.id,
    email: row.email,
    role: row.role,
    createdBy: row.createdBy,
    expiresAt: row.expiresAt,
    createdAt: row.createdAt,
  }
}
