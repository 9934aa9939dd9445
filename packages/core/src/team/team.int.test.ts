import { backdate } from '@rapport/testing/postgres/backdate.ts'
import { and, eq, sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { createApiKey } from '../auth/api-keys.ts'
import { logIn, signUp } from '../auth/login.ts'
import type { BaseCtx, Ctx } from '../request/context.ts'
import { invites, mails, members, type Role, roles, sessions, users, workspaces } from '../db/schema/index.ts'
import { hashToken, deriveMailToken } from '../kernel/crypto.ts'
import { newId, type UserId } from '../kernel/ids.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { createTestCtx, readMailedToken, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { acceptInvite, createInvite, deleteInvite, listInvites, renderInviteMail, resendInvite } from './invites.ts'
import { updateMember, listMembers, removeMember } from './members.ts'

const password = 'a long sentence that is hard to guess'
const all = { limit: 100, sort: '-createdAt' } as const

const database = useTestDatabase()
const ctx = useTestCtx(database)
let base: BaseCtx
let email = ''
let userCount = 0
beforeEach(async () => {
  base = { db: database.db, requestId: 'test', settings: ctx.settings }
  email = freshEmail()
})

const freshEmail = () => `person-${(userCount += 1)}@example.com`
/** The context of a member, or of an API key with this role. */
async function as(userId: UserId, role: 'ADMIN' | 'OWNER', kind: 'user' | 'apiKey' = 'user'): Promise<Ctx> {
  const user: Ctx = { ...ctx, actor: { kind: 'user', userId, role } }
  if (kind === 'user' || role === 'OWNER') return user
  const { id: apiKeyId } = await createApiKey(user, { name: 'key', role, rights: null, expiresAt: null })
  return { ...ctx, actor: { kind, apiKeyId, role, rights: null } }
}
const tokenOf = (id: string) => deriveMailToken(ctx.settings.keys, 'rpi', id)
const accept = (id: string, overrides: { password?: string; name?: string } = {}) =>
  acceptInvite(base, { token: tokenOf(id), password, name: '', ...overrides })
const invite = (role: Role = 'MEMBER', address = email) => createInvite(ctx, { email: address, role })

/** Invites a new user, accepts the invite and returns the id of the user. */
async function join(role: Role): Promise<UserId> {
  const address = freshEmail()
  await accept((await invite(role, address)).id)
  const { data } = await listMembers(ctx, all)
  return data.find((member) => member.email === address)?.id ?? newId('usr')
}
/** Returns 'done' or the error message. */
const outcomeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error as Error).message,
  )
/** Moves the creation of every mail into the past. */
const backdateInvites = (interval: string) =>
  database.db.execute(sql`update mail_requests set ${backdate('created_at', interval)}`)
const rolesNow = async () => (await listMembers(ctx, all)).data.map(({ role }) => role).toSorted()

test('an invite creates a user with its role and works once', async () => {
  const { id } = await invite('ADMIN')
  await accept(id, { name: 'Grace' })
  expect((await listMembers(ctx, all)).data).toMatchObject([{ email, name: 'Grace', role: 'ADMIN' }])
  expect((await listInvites(ctx, all)).data).toEqual([])
  await expect(accept(id)).rejects.toThrow('Invalid or expired token')
  expect(await logIn(base, { email, password })).toMatchObject({ workspace: { id: ctx.workspaceId } })
})

test('one of two hundred concurrent uses of an invite succeeds', async () => {
  const { id } = await invite()
  const ended = await Promise.allSettled(Array.from({ length: 200 }, () => accept(id)))
  const reasons = ended.flatMap((end) => (end.status === 'rejected' ? [(end.reason as Error).message] : []))
  expect(reasons).toHaveLength(199)
  for (const reason of reasons)
    expect(reason).toMatch(/^(Invalid or expired token|Too many concurrent password checks; try again)$/)
  expect(await rolesNow()).toEqual(['MEMBER'])
})

test('an existing user joins with their password, and keeps password and name', async () => {
  await signUp(base, { email, password, name: 'Ada' })
  const { id } = await invite('VIEWER', email.toUpperCase())
  const refused = accept(id, { password: 'not their password at all' })
  await expect(refused).rejects.toThrow('This address already has an account: use its password')
  expect(await rolesNow()).toEqual([])
  await accept(id, { name: 'Another name' })
  expect((await listMembers(ctx, all)).data).toMatchObject([{ email, name: 'Ada', role: 'VIEWER' }])
  expect(await logIn(base, { email, password, workspaceId: ctx.workspaceId })).toMatchObject({ user: { name: 'Ada' } })
})

test('a concurrent sign-up makes accepting fail, and the invite remains valid', async () => {
  const { id } = await invite()
  const signingUp = await openTransaction(database.db, (db) => signUp({ ...base, db }, { email, password, name: '' }))
  const accepting = outcomeOf(accept(id))
  await waitUntilBlocked(database.db)
  await signingUp.commit()
  expect(await accepting).toBe('Email already registered')
  await accept(id)
  expect(await rolesNow()).toEqual(['MEMBER'])
})

test('rejects deleted invites, expired invites and other tokens', async () => {
  const [back, old] = [await invite(), await invite('MEMBER', freshEmail())]
  await deleteInvite(ctx, back.id)
  await database.db.update(invites).set({ expiresAt: sql`now()` }).where(eq(invites.id, old.id))
  for (const { id } of [back, old]) await expect(accept(id)).rejects.toThrow('Invalid or expired token')
  await backdateInvites('11 minutes')
  const fresh = await invite()
  for (const token of ['', 'rpi_', fresh.id, tokenOf(fresh.id).replace('rpi', 'rpr'), hashToken(tokenOf(fresh.id))]) {
    await expect(acceptInvite(base, { token, password, name: '' })).rejects.toThrow('Invalid or expired token')
  }
  // Resending renews the invite, but the previous link remains invalid.
  const { email: address, expiresAt } = await resendInvite(ctx, old.id)
  expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(6.9 * 86_400_000)
  await expect(accept(old.id)).rejects.toThrow('Invalid or expired token')
  await acceptInvite(base, { token: await readMailedToken(base, address), password, name: '' })
})

test('an invite of an invited address or of a member is a conflict', async () => {
  const invited = await Promise.allSettled(Array.from({ length: 10 }, () => invite()))
  expect(invited.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  await expect(invite('MEMBER', email.toUpperCase())).rejects.toThrow('This address already has an invite')
  await accept((await listInvites(ctx, all)).data[0]?.id ?? '')
  await expect(invite('MEMBER', email.toUpperCase())).rejects.toThrow('This address already belongs to a member')
  expect(await database.db.$count(mails, eq(mails.workspaceId, ctx.workspaceId))).toBe(1)
  expect(await listPendingWork(ctx, 'mail')).toHaveLength(1)
})

/** A busy machine may take some of these seconds. */
const about = (seconds: number): unknown => expect.closeTo(seconds, -2)

test('limits invites of an address to one in ten minutes and three a day', async () => {
  const { id } = await invite()
  const tries = () => [resendInvite(ctx, id), resendInvite(ctx, id), resendInvite(ctx, id)].map(outcomeOf)
  const refused = 'This address was invited recently'
  expect(await Promise.all(tries())).toEqual([refused, refused, refused])
  await backdateInvites('9 minutes')
  await expect(resendInvite(ctx, id)).rejects.toMatchObject({ code: 'quota_exceeded', retryAfterSeconds: about(60) })
  await backdateInvites('1 minute')
  expect((await Promise.all(tries())).toSorted()).toEqual([refused, refused, 'done'])

  // Deleting the invite or changing the case does not bypass the limit. It applies to one workspace and one address.
  await deleteInvite(ctx, id)
  await expect(invite('MEMBER', email.toUpperCase())).rejects.toThrow(refused)
  expect((await listInvites(ctx, all)).data).toEqual([])
  await createInvite(await createTestCtx(database.db), { email, role: 'MEMBER' })
  await invite('MEMBER', freshEmail())

  await backdateInvites('10 minutes')
  const again = await invite()
  await backdateInvites('23 hours')
  await expect(resendInvite(ctx, again.id)).rejects.toMatchObject({
    code: 'quota_exceeded',
    retryAfterSeconds: about(2_400),
  })
  await backdateInvites('40 minutes')
  await resendInvite(ctx, again.id)
})

test('a member who joined in another way keeps their role', async () => {
  await signUp(base, { email, password, name: '' })
  const { id } = await invite('VIEWER')
  const [user] = await database.db.select().from(users).where(eq(users.email, email))
  await database.db
    .insert(members)
    .values({ workspaceId: ctx.workspaceId, userId: user?.id ?? newId('usr'), role: 'ADMIN' })
  await accept(id)
  expect(await rolesNow()).toEqual(['ADMIN'])
})

test('the email escapes names and contains the only valid link', async () => {
  const name = '<b>Tricks</b>\r\nBcc: eve@example.com'
  await database.db.update(workspaces).set({ name }).where(eq(workspaces.id, ctx.workspaceId))
  const { id } = await invite()
  const [mail] = await database.db.select().from(mails).where(eq(mails.workspaceId, ctx.workspaceId))
  if (!mail) throw new Error('There is no mail')
  const rendered = await renderInviteMail(ctx, mail)
  expect(rendered?.html).not.toContain('<b>Tricks')
  expect([rendered?.subject, rendered?.from.name].join()).not.toMatch(/[\r\n]/)
  for (const part of [rendered?.html, rendered?.text]) expect(part).toContain(`/accept-invite?token=${tokenOf(id)}`)
  const stored = await database.db.execute(sql`
    select json_agg(i)::text || (select json_agg(m)::text from mails m) as text from invites i`)
  expect(JSON.stringify(stored.rows)).not.toContain(tokenOf(id))
  await deleteInvite(ctx, id)
  expect(await renderInviteMail(ctx, mail)).toBeUndefined()
})

test.each(['user', 'apiKey'] as const)('an actor (%s) cannot grant or change a role above their own', async (kind) => {
  const owner = await join('OWNER')
  const admin = await join('ADMIN')
  const invited = await invite('OWNER')
  const actorCtx = await as(await join('ADMIN'), 'ADMIN', kind)
  for (const call of [
    () => createInvite(actorCtx, { email: freshEmail(), role: 'OWNER' }),
    () => resendInvite(actorCtx, invited.id),
    () => deleteInvite(actorCtx, invited.id),
    () => updateMember(actorCtx, admin, { role: 'OWNER' }),
    () => updateMember(actorCtx, owner, { role: 'VIEWER' }),
    () => updateMember(actorCtx, owner, { role: 'OWNER' }),
    () => removeMember(actorCtx, owner),
  ]) {
    await expect(call()).rejects.toThrow('The role OWNER is above your own')
  }
  expect(await rolesNow()).toEqual(['ADMIN', 'ADMIN', 'OWNER'])
  expect((await listInvites(ctx, all)).data).toMatchObject([{ id: invited.id, expiresAt: invited.expiresAt }])
  for (const role of roles.slice(0, -1)) expect(await updateMember(actorCtx, admin, { role })).toMatchObject({ role })
  await removeMember(actorCtx, admin)
})

test('the last OWNER cannot be demoted or removed', async () => {
  const owner = await join('OWNER')
  await join('ADMIN')
  for (const actorCtx of [ctx, await as(owner, 'OWNER')]) {
    await expect(updateMember(actorCtx, owner, { role: 'ADMIN' })).rejects.toThrow('and this is the last')
    await expect(removeMember(actorCtx, owner)).rejects.toThrow('and this is the last')
  }
  expect(await updateMember(await as(owner, 'OWNER'), owner, { role: 'OWNER' })).toMatchObject({ role: 'OWNER' })
  await join('OWNER')
  await removeMember(await as(owner, 'OWNER'), owner)
  expect(await rolesNow()).toEqual(['ADMIN', 'OWNER'])
})

test.each<[string, (id: UserId) => Promise<unknown>]>([
  ['demote', (id) => updateMember(ctx, id, { role: 'VIEWER' })],
  ['remove', (id) => removeMember(ctx, id)],
])('when five OWNERs %s each other concurrently, one remains', async (_what, act) => {
  const owners = [
    await join('OWNER'),
    await join('OWNER'),
    await join('OWNER'),
    await join('OWNER'),
    await join('OWNER'),
  ]
  const ended = await Promise.allSettled(owners.map(act))
  const reasons = ended.flatMap((end) => (end.status === 'rejected' ? [(end.reason as Error).message] : []))
  expect(reasons).toEqual(['A workspace must have an OWNER, and this is the last one'])
  expect((await rolesNow()).filter((role) => role === 'OWNER')).toHaveLength(1)
})

test('removing a member from their last workspace deletes the account', async () => {
  const id = await join('MEMBER')
  const [{ email: address } = { email: '' }] = await database.db.select().from(users).where(eq(users.id, id))
  await logIn(base, { email: address, password })
  await removeMember(ctx, id)
  expect(await database.db.$count(sessions, eq(sessions.userId, id))).toBe(0)
  await expect(removeMember(ctx, id)).rejects.toThrow('User not found')
  await expect(logIn(base, { email: address, password })).rejects.toThrow('Invalid email or password')
  // The address is available again for a sign-up and an invite.
  await backdateInvites('11 minutes')
  await signUp(base, { email: address, password, name: '' })
  await accept((await invite('VIEWER', address)).id)
})

test('a removed member keeps the account and sessions of other workspaces', async () => {
  const { user } = await signUp(base, { email, password, name: '' })
  await accept((await invite()).id)
  await logIn(base, { email, password, workspaceId: ctx.workspaceId })
  await removeMember(ctx, user.id)
  expect(await database.db.$count(sessions, eq(sessions.userId, user.id))).toBe(1)
  await expect(logIn(base, { email, password, workspaceId: ctx.workspaceId })).rejects.toThrow('Invalid email')
  await logIn(base, { email, password })
})

test('accepting an invite fails while the account is being deleted', async () => {
  const id = await join('MEMBER')
  const [{ email: address } = { email: '' }] = await database.db.select().from(users).where(eq(users.id, id))
  const elsewhere = await createTestCtx(database.db)
  const invited = await createInvite(elsewhere, { email: address, role: 'MEMBER' })
  const removing = await openTransaction(database.db, (db) => removeMember({ ...ctx, db }, id))
  const accepting = outcomeOf(accept(invited.id))
  await waitUntilBlocked(database.db)
  await removing.commit()
  expect(await accepting).toBe('The account was deleted: accept the invite again')
  await accept(invited.id)
  expect((await listMembers(elsewhere, all)).data).toMatchObject([{ email: address }])
})

test('members and invites of another workspace are not found', async () => {
  const [id, { id: inviteId }] = [await join('MEMBER'), await invite()]
  const other = await createTestCtx(database.db)
  for (const call of [
    () => updateMember(other, id, { role: 'VIEWER' }),
    () => removeMember(other, id),
    () => resendInvite(other, inviteId),
    () => deleteInvite(other, inviteId),
  ]) {
    await expect(call()).rejects.toThrow('not found')
  }
  expect([(await listMembers(other, all)).data, (await listInvites(other, all)).data]).toEqual([[], []])
  const isOfOtherWorkspace = and(eq(members.workspaceId, ctx.workspaceId), eq(members.userId, id))
  expect(await database.db.$count(members, isOfOtherWorkspace)).toBe(1)
})
