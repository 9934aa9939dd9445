/** What a change with If-Match has locked while it waits. */
import { lockCampaign } from '@rapport/core/campaigns/campaigns.ts'
import { lockCustomField } from '@rapport/core/custom-fields/custom-fields.ts'
import { transaction } from '@rapport/core/db/transaction.ts'
import { lockTemplate } from '@rapport/core/emails/templates/templates.ts'
import { Id } from '@rapport/core/kernel/ids.ts'
import { lockQuotas } from '@rapport/core/quotas/require-quota.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openImpatient, openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { type Json, startTestApi, type TestWorkspace } from '../../../test/testing.ts'

const api = useForFile(() => startTestApi())
let workspace: TestWorkspace
beforeEach(async () => {
  workspace = await api.signUp()
})

const create = async (path: string, body: Json) => (await api.create<{ id: string }>(path, workspace.key, body)).id

interface Change {
  path: string
  body: Json
  /** Locks the record. */
  lock: (ctx: Ctx) => Promise<unknown>
}

/** Each creates a record. */
const prepare: Record<'campaign' | 'template' | 'custom field', () => Promise<Change>> = {
  async campaign() {
    const listId = await create('/lists', { name: 'News' })
    const id = await create('/campaigns', { name: 'November', subject: 'News', listId })
    const lock = (ctx: Ctx) => lockCampaign(ctx, Id('cmp').parse(id))
    return { path: `/campaigns/${id}`, body: { html: '<p>News</p>' }, lock }
  },
  async template() {
    const id = await create('/templates', { name: 'Reset', subject: 'Hello', text: 'Hello', ground: 'SECURITY' })
    const lock = (ctx: Ctx) => lockTemplate(ctx, Id('tpl').parse(id))
    return { path: `/templates/${id}`, body: { subject: 'Bye' }, lock }
  },
  async 'custom field'() {
    const id = await create('/custom-fields', { key: 'plan', label: 'Plan', type: 'SELECT', options: ['free'] })
    const lock = (ctx: Ctx) => lockCustomField(ctx, Id('cfd').parse(id))
    return { path: `/custom-fields/${id}`, body: { options: ['free', 'pro'] }, lock }
  },
}

const readTag = async (path: string) =>
  (await api.call('GET', path, { key: workspace.key })).headers['etag'] ?? 'no ETag'
const change = (tag: string, { path, body }: Change) =>
  api.call('PATCH', path, { key: workspace.key, headers: { 'if-match': tag }, body })

/** Whether another transaction can take a lock now. */
const isFree = (lock: Change['lock']) =>
  transaction(openImpatient(api.database), (db) => lock({ ...api.ctx(workspace.id), db })).then(
    () => true,
    () => false,
  )

test.each(['campaign', 'template'] as const)('the templates of a %s are checked without a lock', async (what) => {
  const prepared = await prepare[what]()
  const tag = await readTag(prepared.path)
  // A check reads the custom fields first.
  const holding = await openTransaction(api.database.db, (db) =>
    db.execute('lock table custom_fields in access exclusive mode'),
  )
  onTestFinished(() => holding.commit())
  const response = change(tag, prepared)
  await waitUntilBlocked(api.database.db)
  expect(await isFree(prepared.lock)).toBe(true)
  await holding.commit()
  expect((await response).status).toBeLessThan(300)
})

test.each(['campaign', 'custom field'] as const)('a change of a %s locks the quotas before it', async (what) => {
  const prepared = await prepare[what]()
  const tag = await readTag(prepared.path)
  const holding = await openTransaction(api.database.db, (db) => prepared.lock({ ...api.ctx(workspace.id), db }))
  onTestFinished(() => holding.commit())
  const response = change(tag, prepared)
  await waitUntilBlocked(api.database.db)
  expect(await isFree(lockQuotas)).toBe(false)
  await holding.commit()
  expect((await response).status).toBeLessThan(300)
})
