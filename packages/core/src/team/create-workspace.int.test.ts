import { eq } from 'drizzle-orm'
import { beforeAll, expect, test } from 'vitest'
import { listAuditEntries } from '../audit/audit.ts'
import { logIn } from '../auth/login.ts'
import type { BaseCtx } from '../request/context.ts'
import { listPipelines } from '../pipelines/pipelines.ts'
import { workspaces } from '../db/schema/index.ts'
import { deriveKeys } from '../kernel/crypto.ts'
import { uuidOf } from '../kernel/ids.ts'
import { testSettings, readMailedToken, listPendingWork } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { clearDeletedWorkspace, deleteWorkspace } from '../operations/workspaces/delete-workspace.ts'
import { createWorkspaceAndInviteOwner } from './create-workspace.ts'
import { acceptInvite, listInvites } from './invites.ts'

const database = useTestDatabase()
let base: BaseCtx
beforeAll(async () => {
  base = { db: database.db, requestId: 'test', settings: testSettings }
})

const all = { limit: 100, sort: '-createdAt' } as const
const password = 'a long sentence that is hard to guess'
const accept = async (email: string) =>
  acceptInvite(base, { token: await readMailedToken(base, email), password, name: '' })

test('creates the pipeline, the invite of the OWNER and the audit entries', async () => {
  const { workspace } = await createWorkspaceAndInviteOwner(base, { name: 'Engines', ownerEmail: 'ada@example.com' })
  const ctx = { ...base, workspaceId: workspace.id, actor: { kind: 'system' } as const }
  expect((await listPipelines(ctx, all)).data).toMatchObject([{ name: 'Sales' }])
  expect((await listInvites(ctx, all)).data).toMatchObject([{ email: 'ada@example.com', role: 'OWNER' }])
  expect(await listPendingWork(ctx, 'mail')).toHaveLength(1)
  expect((await listAuditEntries(ctx, all)).data).toMatchObject([
    { action: 'invite.created', actor: { kind: 'system' }, details: { role: 'OWNER' } },
    { action: 'workspace.created', actor: { kind: 'system' }, subjectId: workspace.id },
  ])
})

test('the owner accepts the invite with a new or an existing account', async () => {
  for (const [name, ownerEmail] of [
    ['Looms', 'grace@example.com'],
    ['Cards', 'Grace@example.com'],
  ] as const) {
    const { workspace } = await createWorkspaceAndInviteOwner(base, { name, ownerEmail })
    await accept(ownerEmail)
    const session = await logIn(base, { email: 'grace@example.com', password, workspaceId: workspace.id })
    expect(session.workspace.name).toBe(name)
  }
})

test('creates no workspace if the invite fails', async () => {
  const before = await database.db.$count(workspaces)
  await expect(createWorkspaceAndInviteOwner(base, { name: 'Engines', ownerEmail: '\u0000' })).rejects.toThrow()
  expect(await database.db.$count(workspaces)).toBe(before)
})

test('an invite survives a change of SECRET_KEY before its email is rendered', async () => {
  await createWorkspaceAndInviteOwner(base, { name: 'Mills', ownerEmail: 'mary@example.com' })
  const keys = deriveKeys('the secret that replaces the former one', ['a secret that is known to every test'])
  const changed = { ...base, settings: { ...base.settings, keys } }
  await acceptInvite(changed, { token: await readMailedToken(changed, 'mary@example.com'), password, name: '' })
  const session = await logIn(base, { email: 'mary@example.com', password })
  expect(session.workspace.name).toBe('Mills')
})

test('with the same key, one workspace and one invite, also at once', async () => {
  const create = () =>
    createWorkspaceAndInviteOwner(base, {
      name: 'Presses',
      ownerEmail: 'johannes@example.com',
      idempotencyKey: 'client-1',
    })
  const created = await Promise.all([create(), create(), create()])
  const { id } = created[0].workspace
  expect(created.map(({ workspace, invite }) => [workspace.id, invite?.email])).toEqual(
    created.map(() => [id, 'johannes@example.com']),
  )
  const renamed = { name: 'Printers', ownerEmail: 'johannes@example.com', idempotencyKey: 'client-1' }
  await expect(createWorkspaceAndInviteOwner(base, renamed)).rejects.toThrow('another name or owner')
  await accept('johannes@example.com')
  expect(await create()).toMatchObject({ workspace: { id }, invite: null })
  const ctx = { ...base, workspaceId: id, actor: { kind: 'system' } as const }
  await deleteWorkspace(ctx, { name: 'Presses' })
  await expect(create()).rejects.toThrow('was deleted: use another key')
  while (await clearDeletedWorkspace(ctx, uuidOf(id)));
  expect(await database.db.$count(workspaces, eq(workspaces.id, id))).toBe(0)
  await expect(create()).rejects.toThrow('was deleted: use another key')
})
