/** Tests the commands for accounts and API keys. */
import { createApiKey, listApiKeys } from '@rapport/core/auth/api-keys.ts'
import { logIn, signUp } from '@rapport/core/auth/login.ts'
import { listAuditEntries } from '@rapport/core/audit/audit.ts'
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { newId } from '@rapport/core/kernel/ids.ts'
import { resetPassword } from '@rapport/core/operations/mail/reset-password.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { acceptInvite, createInvite } from '@rapport/core/team/invites.ts'
import { createTestCtx, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { runCommandLine, runForJson, unreachableEnvironment } from './testing.ts'

const database = useTestDatabase()
const run = (...words: string[]) => runCommandLine(database.url, words)
const password = 'a long and secret sentence'

/** Creates a workspace with an owner, for settings with the SECRET_KEY of the commands. */
async function createAccount(email: string): Promise<Ctx> {
  const keys = deriveKeys(unreachableEnvironment.SECRET_KEY)
  const base = await createTestCtx(database.db, { settings: { keys } })
  const { workspace } = await signUp(base, { email, name: '', password, workspaceName: email })
  return { ...base, workspaceId: workspace.id }
}

const listActions = async (ctx: Ctx) =>
  (await listAuditEntries(ctx, { limit: 10, sort: '-createdAt' })).data.map(({ action, actor }) => [action, actor.kind])

test('user list shows addresses, last logins and roles, of all or one workspace', async () => {
  const [ada, other] = [await createAccount('list-ada@example.com'), await createAccount('list-other@example.com')]
  await createInvite(ada, { email: 'list-grace@example.com', role: 'VIEWER' })
  const token = await readMailedToken(ada, 'list-grace@example.com')
  await acceptInvite(ada, { token, password, name: 'Grace' })
  await createInvite(other, { email: 'list-ada@example.com', role: 'ADMIN' })
  await acceptInvite(other, { token: await readMailedToken(other, 'list-ada@example.com'), password, name: '' })

  const { stdout } = await run('user', 'list', '--workspace', ada.workspaceId)
  const [header, first, second, ...more] = stdout.split('\n')
  expect(header).toMatch(/^id +email +verified +last login +workspaces$/)
  expect(first).toMatch(
    new RegExp(`^usr_\\w+ +list-ada@example.com +yes +20\\S+Z +${ada.workspaceId} OWNER, ${other.workspaceId} ADMIN$`),
  )
  expect(second).toMatch(new RegExp(`^usr_\\w+ +list-grace@example.com +yes +never +${ada.workspaceId} VIEWER$`))
  expect(more).toEqual([])
  const { data } = (await runForJson(database.url, ['user', 'list'])) as { data: { email: string }[] }
  expect(data.map(({ email }) => email)).toEqual(
    expect.arrayContaining(['list-ada@example.com', 'list-grace@example.com', 'list-other@example.com']),
  )
  expect(data.find(({ email }) => email === 'list-other@example.com')).toEqual({
    id: expect.stringMatching(/^usr_/),
    email: 'list-other@example.com',
    name: '',
    emailVerifiedAt: null,
    createdAt: expect.any(String),
    lastLoginAt: expect.any(String),
    workspaces: [{ id: other.workspaceId, name: 'list-other@example.com', role: 'OWNER' }],
  })
})

test('user list prints every account once, in one JSON document', async () => {
  const empty = await createTestCtx(database.db)
  const words = ['user', 'list', '--workspace', empty.workspaceId]
  expect(await runForJson(database.url, words)).toEqual({ data: [] })
  expect((await run(...words)).stdout).toMatch(/^id +email/)

  // Two full pages of 500, and one account more.
  await database.pool.query(`insert into users (id, email, password_hash)
    select uuidv7(), 'many-' || n || '@example.com', '' from generate_series(1, 1001) n`)
  const { data } = (await runForJson(database.url, ['user', 'list'])) as { data: { id: string; email: string }[] }
  expect(data.filter(({ email }) => email.startsWith('many-'))).toHaveLength(1_001)
  expect(new Set(data.map(({ id }) => id)).size).toBe(data.length)
  const { stdout } = await run('user', 'list')
  expect(stdout.split('\n')).toHaveLength(data.length + 1)
})

test('user reset emails the link to the owner of the address only, and is audited', async () => {
  const ctx = await createAccount('reset@example.com')
  const { stdout, stderr } = await run('user', 'reset', 'RESET@example.com')
  expect(stdout).toBe('')
  expect(stderr).toContain('The email to reset@example.com is queued. 0 sessions ended.')
  expect(await listActions(ctx)).toEqual([
    ['password_reset.requested', 'system'],
    ['session.created', 'user'],
  ])
  const token = await readMailedToken(ctx, 'reset@example.com')
  expect(stderr).not.toContain(token)
  await resetPassword(ctx, { token, password: 'another long and secret sentence' })
  await logIn(ctx, { email: 'reset@example.com', password: 'another long and secret sentence' })
})

test('user reset warns what else a new password revokes, of an unverified address', async () => {
  const ctx = await createAccount('unverified@example.com')
  const queued = 'The email to unverified@example.com is queued. 0 sessions ended.'
  const { stderr } = await run('user', 'reset', 'unverified@example.com')
  expect(stderr).toContain(`${queued}\nThe address was never verified: the new password also revokes the API keys`)
  const token = await readMailedToken(ctx, 'unverified@example.com')
  await resetPassword(ctx, { token, password: 'another long and secret sentence' })
  expect((await run('user', 'reset', 'unverified@example.com')).stderr).toBe(queued)
})

test('user reset --end-sessions ends the sessions of the account, and of no other', async () => {
  const [ctx, other] = [await createAccount('end@example.com'), await createAccount('end-other@example.com')]
  await logIn(ctx, { email: 'end@example.com', password })
  const countSessions = async () => (await database.pool.query('select from sessions')).rowCount ?? 0
  const before = await countSessions()
  expect(await runForJson(database.url, ['user', 'reset', 'end@example.com', '--end-sessions'])).toEqual({
    userId: expect.stringMatching(/^usr_/),
    email: 'end@example.com',
    emailVerifiedAt: null,
    endedSessions: 2,
  })
  expect(before - (await countSessions())).toBe(2)
  expect((await listActions(ctx)).slice(0, 2)).toEqual([
    ['session.deleted', 'system'],
    ['session.deleted', 'system'],
  ])
  expect(await listActions(other)).toEqual([['session.created', 'user']])
})

test('user reset fails for an unknown address, and after three emails in an hour', async () => {
  await expect(run('user', 'reset', 'unknown@example.com')).rejects.toThrow(
    'User unknown@example.com not found. "rapport user list" lists the ids.',
  )
  await createAccount('often@example.com')
  for (let count = 0; count < 3; count++) await run('user', 'reset', 'often@example.com')
  await expect(run('user', 'reset', 'often@example.com')).rejects.toThrow('often@example.com got 3 emails')
})

test('key revoke revokes a key of the workspace, and is in the audit log', async () => {
  const [ctx, other] = [await createTestCtx(database.db), await createTestCtx(database.db)]
  const { id } = await createApiKey(ctx, { name: 'Site', role: 'MEMBER', rights: null, expiresAt: null })
  const kept = await createApiKey(ctx, { name: 'Other', role: 'MEMBER', rights: null, expiresAt: null })
  await expect(run('key', 'revoke', id, '--workspace', other.workspaceId)).rejects.toThrow(
    `API key ${id} not found. "rapport key list --workspace ${other.workspaceId}" lists the ids.`,
  )
  expect(await runForJson(database.url, ['key', 'revoke', id, '--workspace', ctx.workspaceId])).toEqual({
    id,
    workspaceId: ctx.workspaceId,
  })
  expect((await listApiKeys(ctx, { limit: 9, sort: 'createdAt' })).data.map((key) => key.id)).toEqual([kept.id])
  expect((await listActions(ctx))[0]).toEqual(['api_key.deleted', 'system'])
  await expect(run('key', 'revoke', newId('con'), '--workspace', ctx.workspaceId)).rejects.toThrow(
    '<key>: must be the id of an API key (key_ and 26 characters), not of a contact',
  )
})
