import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { signUp } from '@rapport/core/auth/login.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { readWorkspace } from '@rapport/core/workspaces/workspaces.ts'
import { deleteWorkspace } from '@rapport/core/operations/workspaces/delete-workspace.ts'
import {
  addSubscribers,
  createTestCampaign,
  createTestContact,
  createTestCtx,
  createTestList,
  createTestTask,
  createTestWebhook,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { createTestEmail, createTestTemplate, prepareEmailEvent } from '@rapport/testing/consent/test-emails.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { clearWorkspace } from './clear-deleted.ts'

const database = useTestDatabase()
const deps = useForFile(() => createTestDeps(database.db))

/** Creates a workspace with an OWNER, 2,000 subscribers, a campaign that is being sent, emails and pending deliveries. */
async function createFilledWorkspace(name: string): Promise<Ctx> {
  const base = { db: database.db, requestId: 'test', settings: deps.settings }
  const session = await signUp(base, { email: `${name}@example.com`, password: 'a long and secret sentence', name })
  const ctx: Ctx = { ...base, workspaceId: session.workspace.id, actor: { kind: 'system' } }
  await createTestWebhook(ctx, { eventTypes: ['*'] })
  const contact = await createTestContact(ctx)
  const { id: contactId } = contact
  await createTestTask(ctx, { contactId, assigneeId: session.user.id })
  const list = await createTestList(ctx)
  await addSubscribers(ctx, list.id, { count: 2_000 })
  const endEmail = await prepareEmailEvent(ctx, contact, 'email.sent')
  await endEmail()
  const template = await createTestTemplate(ctx)
  await createTestEmail(ctx, template.id)
  await sendCampaign(ctx, (await createTestCampaign(ctx, { listId: list.id })).id)
  return ctx
}

/** The number of rows per table that belong to the workspace. Omits empty tables. */
async function countRows(ctx: Ctx): Promise<Record<string, number>> {
  const tables = await database.pool.query<{ name: string }>(
    `select table_name as name from information_schema.columns where column_name = 'workspace_id' and table_schema = 'public'`,
  )
  const counts: Record<string, number> = {}
  for (const { name } of tables.rows) {
    const { rows } = await database.pool.query<{ count: number }>(
      `select count(*)::int from ${name} where workspace_id = $1`,
      [uuidOf(ctx.workspaceId)],
    )
    if (rows[0]?.count) counts[name] = rows[0].count
  }
  return counts
}
const countUsers = async (name: string) =>
  (await database.pool.query(`select from users where email = $1`, [`${name}@example.com`])).rowCount

test('deletes all rows of a deleted workspace and none of another workspace', async () => {
  const [mine, other] = [await createFilledWorkspace('ada'), await createFilledWorkspace('eve')]
  const before = await countRows(other)
  expect(Object.keys(before).length).toBeGreaterThan(10)
  const job = jobOf(mine, 'CLEAR_WORKSPACE', uuidOf(mine.workspaceId))
  await clearWorkspace(deps, job)
  expect(await countRows(mine)).toMatchObject({ contacts: 2_002, members: 1 })

  await deleteWorkspace(mine, await readWorkspace(mine))
  await expect(deleteWorkspace(mine, { name: 'any' })).rejects.toThrow('Workspace not found')
  expect(await countRows(mine)).not.toMatchObject({ members: 1 })
  expect(await countUsers('ada')).toBe(0)
  await clearWorkspace({ ...deps, stopping: AbortSignal.abort() }, job)
  expect(await listPendingWork(mine, 'maintenance')).toEqual([uuidOf(mine.workspaceId)])
  await Promise.all([clearWorkspace(deps, job), clearWorkspace(deps, job)])
  expect(await countRows(mine)).toEqual({})
  const left = await database.pool.query('select from workspaces where id = $1', [uuidOf(mine.workspaceId)])
  expect(left.rowCount).toBe(0)
  await clearWorkspace(deps, job)
  expect(await countRows(other)).toEqual(before)
  expect(await countUsers('eve')).toBe(1)
})

test('keeps a user who is also a member of another workspace', async () => {
  const [mine, other] = [await createFilledWorkspace('grace'), await createTestCtx(database.db)]
  await database.pool.query(
    `insert into members (workspace_id, user_id, role) select $1, id, 'MEMBER' from users where email = 'grace@example.com'`,
    [uuidOf(other.workspaceId)],
  )
  await deleteWorkspace(mine, await readWorkspace(mine))
  await clearWorkspace(deps, jobOf(mine, 'CLEAR_WORKSPACE', uuidOf(mine.workspaceId)))
  expect(await countUsers('grace')).toBe(1)
  expect(await countRows(other)).toMatchObject({ members: 1 })
})

test('ignores the job of another record', async () => {
  const mine = await createFilledWorkspace('hedy')
  const before = await countRows(mine)
  await clearWorkspace(deps, jobOf(mine, 'CLEAR_WORKSPACE', '00000000-0000-7000-8000-000000000000'))
  expect(await countRows(mine)).toEqual(before)
})
