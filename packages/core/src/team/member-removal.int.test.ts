/** API keys and invites of members who are removed or demoted. */
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createApiKey, listApiKeys } from '../auth/api-keys.ts'
import { ApiKeyInput } from '../auth/auth.schema.ts'
import { requestPasswordReset } from '../auth/password-resets.ts'
import type { Ctx } from '../request/context.ts'
import { members, type Role, users } from '../db/schema/index.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type ApiKeyId, newId, type UserId } from '../kernel/ids.ts'
import { createInvite, listInvites } from './invites.ts'
import { updateMember, removeMember } from './members.ts'
import { resetPassword } from '../operations/reset-password.ts'

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
const issue = (by: Ctx, name = 'key') => createApiKey(by, ApiKeyInput.parse({ name, role: 'ADMIN' }))
const withKey = ({ id }: { id: ApiKeyId }): Ctx => ({ ...ctx, actor: { kind: 'apiKey', apiKeyId: id, role: 'ADMIN' } })
const idsOf = (records: { id: string }[]) => records.map(({ id }) => id)
const readInvites = async () => idsOf((await listInvites(ctx, all)).data)
const readKeys = async (createdBy?: UserId) => idsOf((await listApiKeys(ctx, { ...all, createdBy })).data)

test('records the creator of keys and invites, also for requests with a key', async () => {
  const ada = await join('ADMIN')
  const key = await issue(ada)
  for (const by of [ada, withKey(key), withKey(await issue(withKey(key)))]) {
    expect(await issue(by)).toMatchObject({ createdBy: ada.userId })
    expect(await invite(by)).toMatchObject({ createdBy: ada.userId })
  }
  expect([(await issue(ctx)).createdBy, (await invite(ctx)).createdBy]).toEqual([null, null])
})

test('removing a member deletes their invites and keeps their keys by default', async () => {
  const [ada, eve] = [await join('ADMIN'), await join('ADMIN')]
  const [first, kept] = [await issue(eve), await issue(ada)]
  const second = await issue(withKey(first))
  for (const by of [eve, withKey(first), withKey(second)]) await invite(by)
  const keptInvite = await invite(ada)
  await removeMember(ctx, eve.userId)
  expect(await readInvites()).toEqual([keptInvite.id])
  expect(await readKeys()).toHaveLength(3)
  expect(await readKeys(eve.userId)).toEqual([second.id, first.id])
  expect(await readKeys(ada.userId)).toEqual([kept.id])
})

test('revokeApiKeys deletes the keys of the removed member only', async () => {
  const [ada, eve] = [await join('ADMIN'), await join('ADMIN')]
  const kept = await issue(ada)
  await issue(withKey(await issue(eve)))
  await removeMember(ctx, eve.userId, { revokeApiKeys: true })
  expect(await readKeys()).toEqual([kept.id])
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
  const removing = removeMember(ctx, first.userId, { revokeApiKeys: true })
  await waitUntilBlocked(database.db)
  await making.commit()
  await removing
  expect(await count()).toBe(0)

  const second = await join('ADMIN')
  const leaving = await openTransaction(database.db, (db) =>
    removeMember({ ...ctx, db }, second.userId, { revokeApiKeys: true }),
  )
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
  const removing = removeMember(ctx, eve.userId, { revokeApiKeys: true })
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
      removeMember(ctx, eve.userId, { revokeApiKeys: true }),
      resetPassword(ctx, { token, password: 'a long sentence that is hard to guess' }),
    ])
    expect(removed).toMatchObject({ status: 'fulfilled' })
    expect([undefined, 'Invalid or expired token']).toContain(
      reset.status === 'rejected' ? (reset.reason as Error).message : undefined,
    )
  }
  expect([await readKeys(), await readInvites()]).toEqual([[], []])
})

test('a demoted member cannot create an invite', async () => {
  const ada = await join('ADMIN')
  await updateMember(ctx, ada.userId, { role: 'MEMBER' })
  await expect(invite(ada)).rejects.toThrow('This request requires the role ADMIN')
})
