/** Tests the commands that show, invite to and delete a workspace. */
import { createApiKey, listApiKeys } from '@rapport/core/auth/api-keys.ts'
import { listAuditEntries } from '@rapport/core/audit/audit.ts'
import { signUp } from '@rapport/core/auth/login.ts'
import { setSenderDomains } from '@rapport/core/domains/set-sender-domains.ts'
import { deriveKeys } from '@rapport/core/kernel/crypto.ts'
import { newId } from '@rapport/core/kernel/ids.ts'
import { acceptInvite } from '@rapport/core/team/invites.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { isLiveWorkspace } from '@rapport/core/request/workspace-state.ts'
import {
  createTestContact,
  createTestCtx,
  createTestDeal,
  createTestWebhook,
  readMailedToken,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createFailingPeriod, setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { createDomain } from '@rapport/testing/network/sending-domains.ts'
import { expect, test } from 'vitest'
import { runCommandLine, runForJson, unreachableEnvironment } from './testing.ts'

const database = useTestDatabase()
const run = (...words: string[]) => runCommandLine(database.url, words)

/** Creates a workspace with an owner, for settings with the SECRET_KEY of the commands. */
async function createOwnedWorkspace(email: string, workspaceName = 'Analytical Engines'): Promise<Ctx> {
  const keys = deriveKeys(unreachableEnvironment.SECRET_KEY)
  const base = await createTestCtx(database.db, { settings: { keys } })
  const { workspace } = await signUp(base, {
    email,
    name: 'Ada',
    password: 'a long and secret sentence',
    workspaceName,
  })
  return { ...base, workspaceId: workspace.id }
}

test('workspace show prints members, invites, senders, quotas and failing webhooks', async () => {
  const ctx = await createOwnedWorkspace('show@example.com')
  await createTestContact(ctx)
  await createTestDeal(ctx)
  await setSenderDomains(ctx, ['engines.example'])
  await createDomain(ctx, { name: 'looms.example' })
  await run('workspace', 'set-quota', ctx.workspaceId, 'lists=7', 'forms=0')
  await run('workspace', 'invite', ctx.workspaceId, '--email', 'pending@example.com', '--role', 'OWNER')
  const { stdout: healthy } = await run('workspace', 'show', ctx.workspaceId)
  expect(healthy).toContain('No webhook has failed for an hour.')
  const webhook = await createTestWebhook(ctx, { url: 'https://example.com/hooks/secret?token=secret' })
  await setHealth(ctx, webhook.id, createFailingPeriod(3, 12))

  const { stdout } = await run('workspace', 'show', ctx.workspaceId)
  for (const line of [
    /^Analytical Engines$/m,
    /^Suspended {7}no$/m,
    /^Sender domains {2}engines\.example$/m,
    /^Deals {11}1$/m,
    /^show@example\.com +OWNER /m,
    /^invited +role +until +id$/m,
    /^pending@example\.com +OWNER +20\S+Z +inv_\w+$/m,
    /^looms\.example +PENDING +– +–$/m,
    /^lists +0 +7$/m,
    /^forms +0 +–$/m,
    /^contacts +2 +5,000,000$/m,
    /^requests +– +40$/m,
    new RegExp(`^20\\S+Z +12 +no +${ctx.workspaceId} +${webhook.id} +https://example\\.com +–$`, 'm'),
  ]) {
    expect(stdout).toMatch(line)
  }
  const json = await runForJson(database.url, ['workspace', 'show', ctx.workspaceId])
  expect(json).toEqual({
    workspace: expect.objectContaining({ id: ctx.workspaceId, name: 'Analytical Engines', suspendedAt: null }),
    members: [
      { id: expect.any(String), email: 'show@example.com', name: 'Ada', role: 'OWNER', createdAt: expect.any(String) },
    ],
    invites: [expect.objectContaining({ email: 'pending@example.com', role: 'OWNER' })],
    senderDomains: ['engines.example'],
    domains: [expect.objectContaining({ name: 'looms.example', status: 'PENDING', host: null })],
    usage: expect.objectContaining({ lists: { used: 0, isEstimate: false, limit: 7 } }),
    counts: { deals: 1, tasks: 0, campaigns: {} },
    failingWebhooks: [expect.objectContaining({ webhookId: webhook.id, origin: 'https://example.com' })],
  })
  for (const output of [stdout, JSON.stringify(json)]) expect(output).not.toMatch(/secret/)
})

test('workspace delete needs the name of the workspace, and ends all access', async () => {
  const [ctx, other] = [
    await createOwnedWorkspace('delete@example.com', 'Old Engines'),
    await createTestCtx(database.db),
  ]
  await createApiKey(ctx, { name: 'Site', role: 'MEMBER', rights: null, expiresAt: null })
  const words = ['workspace', 'delete', ctx.workspaceId]
  await expect(run(...words, '--name', 'Analytical Engines')).rejects.toMatchObject({
    message: `--name: ${ctx.workspaceId} is named "Old Engines", not "Analytical Engines"`,
    exitCode: 2,
  })
  expect(await isLiveWorkspace(ctx)).toBe(true)
  expect(await runForJson(database.url, [...words, '--name', 'Old Engines'])).toEqual({
    id: ctx.workspaceId,
    name: 'Old Engines',
  })
  expect([await isLiveWorkspace(ctx), await isLiveWorkspace(other)]).toEqual([false, true])
  expect((await listApiKeys(ctx, { limit: 1, sort: 'createdAt' })).data).toEqual([])
  expect((await run('user', 'list')).stdout).not.toContain('delete@example.com')
  const wasDeleted = new RegExp(`^Workspace ${ctx.workspaceId} not found: it was deleted at 20\\S+Z\\.$`)
  await expect(run(...words, '--name', 'Old Engines')).rejects.toThrow(wasDeleted)
  await expect(run('workspace', 'show', ctx.workspaceId)).rejects.toThrow(wasDeleted)
})

test('workspace invite emails an invite, which the audit log records', async () => {
  const ctx = await createOwnedWorkspace('invite@example.com')
  const words = ['workspace', 'invite', ctx.workspaceId, '--email', 'grace@example.com', '--role', 'OWNER']
  const { stdout, stderr } = await run(...words)
  expect(stdout).toMatch(/^inv_\w{26}$/)
  expect(stderr).toContain('The invite for grace@example.com expires')
  expect(await readMailedToken(ctx, 'grace@example.com')).not.toContain(stdout)
  expect((await listAuditEntries(ctx, { limit: 1, sort: '-createdAt' })).data).toMatchObject([
    { action: 'invite.created', actor: { kind: 'system', id: null }, details: { role: 'OWNER' } },
  ])
  expect((await run(...words)).stdout).toBe(stdout)
  await expect(run(...words.slice(0, -1), 'ADMIN')).rejects.toThrow('This address already has an invite')
})

test('workspace invite of a member with this role says so, and with another role fails', async () => {
  const ctx = await createOwnedWorkspace('invited@example.com')
  const words = ['workspace', 'invite', ctx.workspaceId, '--email', 'joan@example.com', '--role', 'ADMIN']
  await run(...words)
  const token = await readMailedToken(ctx, 'joan@example.com')
  await acceptInvite(ctx, { token, password: 'correct horse battery', name: 'Joan' })
  expect(await run(...words)).toMatchObject({
    stdout: '',
    stderr: expect.stringContaining('joan@example.com is a member'),
  })
  expect(await runForJson(database.url, words)).toBeNull()
  await expect(run(...words.slice(0, -1), 'OWNER')).rejects.toThrow('This address already belongs to a member')
})

test.each([
  [['workspace', 'show']],
  [['workspace', 'delete', '--name', 'x']],
  [['workspace', 'invite', '--email', 'a@example.com', '--role', 'ADMIN']],
  [['user', 'list', '--workspace']],
  [['webhook', 'failing', '--workspace']],
  [['campaign', 'status', '--workspace']],
  [['key', 'list', '--workspace']],
  [['key', 'revoke', newId('key'), '--workspace']],
])('%j names an unknown workspace, and how to find its id', async (words) => {
  const unknown = newId('wsp')
  await expect(run(...words, unknown)).rejects.toMatchObject({
    code: 'not_found',
    message: `Workspace ${unknown} not found. "rapport workspace list" lists the ids.`,
  })
})

test('workspace create with the same key prints the workspace that it created', async () => {
  const words = [
    'workspace',
    'create',
    '--name',
    'Looms',
    '--owner-email',
    'own@example.com',
    '--idempotency-key',
    'c-7',
  ]
  const { stdout, stderr } = await run(...words)
  expect(stderr).toMatch(/^Created "Looms"\.[^]*\n {2}rapport key create /)
  const repeated = await run(...words)
  expect([repeated.stdout, repeated.stderr]).toEqual([stdout, expect.stringMatching(/^Found "Looms"\. The invite .*$/)])
})
