/** API keys and invites of members who are removed or demoted. */
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createApiKey, listApiKeys } from '../auth/api-keys.ts'
import { listAuditEntries } from '../audit/audit.ts'
import type { AuditAction } from '../audit/audit.schema.ts'
import { type ApiKey, ApiKeyInput } from '../auth/auth.schema.ts'
import { requestPasswordReset } from '../auth/password-resets.ts'
import { transaction } from '../db/transaction.ts'
import type { Ctx } from '../request/context.ts'
import { lockWorkspace, readWorkspace } from '../workspaces/workspaces.ts'
import { apiKeys, members, type Role, sessions, users } from '../db/schema/index.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { deriveMailToken } from '../kernel/crypto.ts'
import { type ApiKeyId, newId, type UserId } from '../kernel/ids.ts'
import { acceptInvite, createInvite, listInvites, resendInvite } from './invites.ts'
import { updateMember, removeMember } from './members.ts'
import { deleteWorkspace } from '../operations/workspaces/delete-workspace.ts'
import { resetPassword } from '../operations/mail/reset-password.ts'
import { timestampNow, timestampAt } from '../kernel/values/timestamps.ts'

const all = { limit: 100, sort: '-createdAt' } as const

const database = useTestDatabase()
const ctx = useTestCtx(database)

type Person = Ctx & { userId: UserId }

let userCount = 0
const freshEmail = () => `person-${(userCount += 1)}@example.com`

/** Adds a member and returns their context. */
async function join(role: Role): Promise<Person> {
  const userId = newId('usr')
  await database.db.insert(users).values({ id: userId, email: freshEmail(), passwordHash: '' })
  await database.db.insert(members).values({ workspaceId: ctx.workspaceId, userId, role })
  return { ...ctx, actor: { kind: 'user', userId, role }, userId }
}

const invite = (by: Ctx, role: Role = 'VIEWER') => createInvite(by, { email: freshEmail(), role })
const issue = (by: Ctx, role: ApiKey['role'] = 'ADMIN') => createApiKey(by, ApiKeyInput.parse({ name: 'key', role }))
const withKey = ({ id }: { id: ApiKeyId }): Ctx => ({
  ...ctx,
  actor: { kind: 'apiKey', apiKeyId: id, role: 'ADMIN', rights: null },
})
const idsOf = (records: { id: string }[]) => records.map(({ id }) => id)
const readInvites = async () => idsOf((await listInvites(ctx, all)).data)
const readKeys = async (createdBy?: UserId) => idsOf((await listApiKeys(ctx, { ...all, createdBy })).data)
const readRoles = async (createdBy: UserId) =>
  (await listApiKeys(ctx, { limit: 100, sort: 'createdAt', createdBy })).data.map(({ role }) => role)
/** The details of the entries with this action, without the names of keys. */
async function readDetails(action: AuditAction) {
  const { data } = await listAuditEntries(ctx, { limit: 100, sort: 'createdAt', action })
  return data.map(({ subjectId, details: { name: _name, ...details } }) => ({ subjectId, ...details }))
}

test('records the creator of keys and invites, also for requests with a key', async () => {
  const ada = await join('ADMIN')
  const key = await issue(ada)
  for (const by of [ada, withKey(key), withKey(await issue(withKey(key)))]) {
    expect(await issue(by)).toMatchObject({ createdBy: ada.userId })
    expect(await invite(by)).toMatchObject({ createdBy: ada.userId })
  }
  expect([(await issue(ctx)).createdBy, (await invite(ctx)).createdBy]).toEqual([null, null])
})

test('removing a member deletes the keys and invites that they created', async () => {
  const [ada, eve] = [await join('ADMIN'), await join('ADMIN')]
  const [first, kept, ofCli] = [await issue(eve), await issue(ada), await issue(ctx)]
  const second = await issue(withKey(first))
  for (const by of [eve, withKey(first), withKey(second)]) await invite(by)
  const keptInvite = await invite(ada)
  await removeMember(ctx, eve.userId)
  expect(await readInvites()).toEqual([keptInvite.id])
  expect(await readKeys()).toEqual([ofCli.id, kept.id])
  expect(await readDetails('api_key.deleted')).toEqual(
    expect.arrayContaining([{ subjectId: first.id }, { subjectId: second.id }]),
  )
})

test.each<[Role, Role[], number]>([
  ['OWNER', ['VIEWER', 'MEMBER', 'ADMIN', 'ADMIN'], 0],
  ['ADMIN', ['VIEWER', 'MEMBER', 'ADMIN', 'ADMIN'], 0],
  ['MEMBER', ['VIEWER', 'MEMBER', 'MEMBER', 'MEMBER'], 2],
  ['VIEWER', ['VIEWER', 'VIEWER', 'VIEWER', 'VIEWER'], 3],
])('an owner who becomes %s has no key above this role', async (role, keyRoles, changed) => {
  await join('OWNER')
  const [eve, ada] = [await join('OWNER'), await join('ADMIN')]
  for (const keyRole of ['VIEWER', 'MEMBER', 'ADMIN'] as const) await issue(eve, keyRole)
  const [admin] = await readKeys(eve.userId)
  await issue(withKey({ id: admin as ApiKeyId }))
  await issue(ada)
  await updateMember(ctx, eve.userId, { role })
  expect(await readRoles(eve.userId)).toEqual(keyRoles)
  expect(await readRoles(ada.userId)).toEqual(['ADMIN'])
  const entries = await readDetails('api_key.changed')
  expect(entries).toHaveLength(changed)
  expect(entries.filter(({ subjectId }) => subjectId === admin)).toEqual(
    changed > 0 ? [{ subjectId: admin, before: 'ADMIN', role }] : [],
  )
  // A higher role later does not give the keys back what they lost.
  await updateMember(ctx, eve.userId, { role: 'OWNER' })
  expect(await readRoles(eve.userId)).toEqual(keyRoles)
})

test.each<[Role, Role[]]>([
  ['OWNER', ['ADMIN', 'MEMBER', 'OWNER']],
  ['ADMIN', ['ADMIN', 'MEMBER']],
  ['MEMBER', []],
])('an owner who becomes %s keeps the invites that the new role allows', async (role, remaining) => {
  await join('OWNER')
  const ada = await join('OWNER')
  for (const asked of ['MEMBER', 'ADMIN', 'OWNER'] as const) await invite(ada, asked)
  await updateMember(ctx, ada.userId, { role })
  expect((await listInvites(ctx, all)).data.map((one) => one.role).toSorted()).toEqual(remaining)
})

test.each<[string, (by: Ctx) => Promise<unknown>]>([
  ['a key', (by) => issue(by)],
  ['an invite', (by) => invite(by)],
])('removing the creator concurrently deletes or prevents %s', async (_what, make) => {
  const count = async () => (await readKeys()).length + (await readInvites()).length
  const first = await join('ADMIN')
  const making = await openTransaction(database.db, (db) => make({ ...first, db }))
  const removing = removeMember(ctx, first.userId)
  await waitUntilBlocked(database.db)
  await making.commit()
  await removing
  expect(await count()).toBe(0)

  const second = await join('ADMIN')
  const leaving = await openTransaction(database.db, (db) => removeMember({ ...ctx, db }, second.userId))
  const late = Promise.allSettled([make(second)])
  await waitUntilBlocked(database.db)
  await leaving.commit()
  expect(await late).toMatchObject([{ reason: { code: 'unauthorized' } }])
  expect(await count()).toBe(0)
})

test('a key created with a concurrently revoked key is deleted too', async () => {
  const eve = await join('ADMIN')
  const key = await issue(eve)
  const making = await openTransaction(database.db, (db) => issue({ ...withKey(key), db }))
  const removing = removeMember(ctx, eve.userId)
  await waitUntilBlocked(database.db)
  await making.commit()
  await removing
  expect(await readKeys()).toEqual([])
})

test('a concurrent removal and password reset do not deadlock', async () => {
  for (let round = 0; round < 15; round += 1) {
    const eve = await join('ADMIN')
    await issue(eve)
    await invite(eve)
    const [{ email } = { email: '' }] = await database.db.select().from(users).where(eq(users.id, eve.userId))
    await requestPasswordReset(ctx, { email })
    const token = await readMailedToken(ctx, email)
    const [removed, reset] = await Promise.allSettled([
      removeMember(round % 2 === 0 ? ctx : eve, eve.userId),
      resetPassword(ctx, { token, password: 'a long sentence that is hard to guess' }),
    ])
    expect(removed).toMatchObject({ status: 'fulfilled' })
    expect([undefined, 'Invalid or expired token']).toContain(
      reset.status === 'rejected' ? (reset.reason as Error).message : undefined,
    )
  }
  expect([await readKeys(), await readInvites()]).toEqual([[], []])
})

test.each<[string, (key: Ctx) => Promise<unknown>]>([
  ['a key', (by) => issue(by)],
  ['an invite', (by) => invite(by)],
])('demoting the creator of a key concurrently lowers or prevents %s', async (_what, make) => {
  const first = await join('ADMIN')
  const firstKey = withKey(await issue(first))
  const making = await openTransaction(database.db, (db) => make({ ...firstKey, db }))
  const lowering = updateMember(ctx, first.userId, { role: 'VIEWER' })
  await waitUntilBlocked(database.db)
  await making.commit()
  await lowering
  expect(new Set(await readRoles(first.userId))).toEqual(new Set(['VIEWER']))
  expect(await readInvites()).toEqual([])

  const second = await join('ADMIN')
  const secondKey = withKey(await issue(second))
  const demoting = await openTransaction(database.db, (db) =>
    updateMember({ ...ctx, db }, second.userId, { role: 'MEMBER' }),
  )
  const late = Promise.allSettled([make(secondKey)])
  await waitUntilBlocked(database.db)
  await demoting.commit()
  expect(await late).toMatchObject([{ reason: { code: 'forbidden' } }])
  expect(await readRoles(second.userId)).toEqual(['MEMBER'])
  expect(await readInvites()).toEqual([])
})

test('a change with If-Match and one without it do not deadlock', async () => {
  const eve = await join('ADMIN')
  const { other } = await transaction(database.db, async (db) => {
    await lockWorkspace({ ...ctx, db })
    const other = updateMember(ctx, eve.userId, { role: 'MEMBER' })
    await waitUntilBlocked(database.db)
    await updateMember({ ...ctx, db }, eve.userId, { role: 'VIEWER' })
    return { other }
  })
  expect(await other).toMatchObject({ role: 'MEMBER' })
})

/** What a request could do to regain rights, if it was authenticated before the rights were lost. */
const escalations: [string, (actor: Ctx, eve: Person) => Promise<unknown>][] = [
  ['promote its own user', (actor, eve) => updateMember(actor, eve.userId, { role: 'ADMIN' })],
  ['create a key', (actor) => issue(actor)],
  ['create an invite', (actor) => invite(actor)],
  ['resend an invite', async (actor) => resendInvite(actor, (await invite(ctx)).id)],
  ['remove another member', async (actor) => removeMember(actor, (await join('VIEWER')).userId)],
  ['delete the workspace', (actor) => deleteWorkspace(actor, { name: 'Test' })],
]
test.each(escalations)('a request from before the demotion cannot %s', async (_what, act) => {
  await join('OWNER')
  const eve = await join('ADMIN')
  const key = withKey(await issue(eve))
  await updateMember(ctx, eve.userId, { role: 'MEMBER' })
  for (const actor of [eve, key]) await expect(act(actor, eve)).rejects.toThrow('This request requires the role ADMIN')
  await removeMember(ctx, eve.userId)
  for (const actor of [eve, key]) await expect(act(actor, eve)).rejects.toMatchObject({ code: 'unauthorized' })
})

test('a key that expires during a request cannot create another one', async () => {
  const key = await issue(await join('ADMIN'))
  await database.db.update(apiKeys).set({ expiresAt: timestampNow() }).where(eq(apiKeys.id, key.id))
  await expect(issue(withKey(key))).rejects.toMatchObject({ code: 'unauthorized' })
})

test('a session that a password reset ends creates no key that outlives the reset', async () => {
  const eve = await join('ADMIN')
  const sessionId = newId('ses')
  await database.db.insert(sessions).values({
    id: sessionId,
    tokenHash: sessionId,
    workspaceId: ctx.workspaceId,
    userId: eve.userId,
    expiresAt: timestampAt(Date.now() + 60_000),
  })
  const session: Ctx = { ...eve, actor: { kind: 'user', userId: eve.userId, role: 'ADMIN', sessionId } }
  const [{ email } = { email: '' }] = await database.db.select().from(users).where(eq(users.id, eve.userId))
  await requestPasswordReset(ctx, { email })
  const token = await readMailedToken(ctx, email)
  const making = await openTransaction(database.db, (db) => issue({ ...session, db }))
  const resetting = resetPassword(ctx, { token, password: 'a long sentence that is hard to guess' })
  await waitUntilBlocked(database.db)
  await making.commit()
  await resetting
  expect(await readKeys()).toEqual([])
  await expect(issue(session)).rejects.toMatchObject({ code: 'unauthorized' })
})

test('a member who joins while the workspace is deleted is removed too', async () => {
  const { id } = await invite(ctx)
  const input = { token: deriveMailToken(ctx.settings.keys, 'rpi', id), password: 'a long secret sentence', name: '' }
  const accepting = await openTransaction(database.db, (db) => acceptInvite({ ...ctx, db }, input))
  const deleting = deleteWorkspace(ctx, { name: (await readWorkspace(ctx)).name })
  await waitUntilBlocked(database.db)
  await accepting.commit()
  await deleting
  expect(await database.db.$count(members, eq(members.workspaceId, ctx.workspaceId))).toBe(0)
})
