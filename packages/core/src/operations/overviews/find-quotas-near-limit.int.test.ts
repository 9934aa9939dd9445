import { createApiKey } from '../../auth/api-keys.ts'
import { sendCampaign } from '../../campaigns/send-campaign.ts'
import { deleteCustomField } from '../webhooks/delete-custom-field.ts'
import { createCustomField } from '../../custom-fields/custom-fields.ts'
import { CustomFieldInput } from '../../custom-fields/custom-fields.schema.ts'
import { defaultQuotas, quotaNames, type Quotas } from '../../kernel/quotas.ts'
import { deleteList } from '../../lists/delete-list.ts'
import type { Ctx } from '../../request/context.ts'
import { createSegment } from '../../segments/segments.ts'
import { createInvite } from '../../team/invites.ts'
import { updateTemplate } from '../../emails/templates/templates.ts'
import { deleteWebhook } from '../../webhooks/webhooks.ts'
import { setQuotas } from '../../workspaces/set-quotas.ts'
import { readUsage } from './workspace-usage.ts'
import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import {
  createTestCampaign,
  createTestContact,
  createTestCtx,
  createTestForm,
  createTestList,
  createTestWebhook,
} from '@rapport/testing/fixtures/factories.ts'
import { queueTestImport, runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createDomain } from '@rapport/testing/network/sending-domains.ts'
import { expect, test } from 'vitest'
import { deleteWorkspace } from '../workspaces/delete-workspace.ts'
import { findQuotasNearLimit } from './find-quotas-near-limit.ts'

const database = useTestDatabase()
const noQuotas = Object.fromEntries(quotaNames.map((name) => [name, Infinity])) as Quotas

const find = (quotas: Quotas, minShare = 0.9, timeoutMs = 10_000) =>
  findQuotasNearLimit(database.db, quotas, { minShare, timeoutMs })

/** Creates and deletes records of each quota that is counted. */
async function fillWorkspace(ctx: Ctx): Promise<void> {
  await createTestContact(ctx)
  await createTestForm(ctx)
  await createTestWebhook(ctx)
  await deleteWebhook(ctx, (await createTestWebhook(ctx)).id)
  await deleteList(ctx, (await createTestList(ctx, { name: 'Deleted' })).id)
  await createApiKey(ctx, { name: 'Site', role: 'MEMBER', rights: null, expiresAt: null })
  const options = { type: 'SELECT', options: ['free', 'pro'] }
  await createCustomField(ctx, CustomFieldInput.parse({ key: 'plan', label: 'Plan', ...options }))
  const removed = await createCustomField(ctx, CustomFieldInput.parse({ key: 'old', label: 'Old', ...options }))
  await deleteCustomField(ctx, removed.id)
  await createInvite(ctx, { email: 'grace@example.com', role: 'MEMBER' })
  await createSegment(ctx, { name: 'All', filter: { field: 'email', isSet: true } })
  await createDomain(ctx, { name: 'mail.example.com' })
  await runTestImport(ctx, 'email\nada@example.com\n')
  await queueTestImport(ctx, 'email\nada@example.com\n')
  const [template, paused] = [await createTestTemplate(ctx), await createTestTemplate(ctx)]
  for (const { id } of [template, paused]) await createTestEmail(ctx, id)
  await updateTemplate(ctx, paused.id, { status: 'PAUSED' })
  const campaign = await createTestCampaign(ctx, { confirmed: 3 })
  await sendCampaign(ctx, campaign.id)
}

test('finds the same use as GET /workspace/usage, for every quota with a use', async () => {
  const ctx = await createTestCtx(database.db)
  await fillWorkspace(ctx)
  await createTestCtx(database.db)
  const usage = await readUsage(ctx)
  expect([usage.emails.used, usage.emailsPending.used]).toEqual([2, 1])
  const used = quotaNames.filter((name) => (usage[name].used ?? 0) > 0)
  expect(used).toEqual(
    expect.arrayContaining(['contacts', 'lists', 'customFieldBytes', 'campaignMails', 'singleMails']),
  )
  await setQuotas(ctx, Object.fromEntries(used.map((quota) => [quota, usage[quota].used])))
  const { data, isIncomplete } = await find(noQuotas)
  const expected = used.map((quota) => {
    const use = usage[quota].used
    return { workspaceId: ctx.workspaceId, name: 'Analytical Engines', quota, used: use, limit: use }
  })
  expect(new Set(data)).toEqual(new Set(expected))
  expect(isIncomplete).toBe(false)
})

test('counts a quota from the given share of its limit, most used first', async () => {
  const [full, near, far, unlimited] = await Promise.all([1, 2, 3, 4].map(() => createTestCtx(database.db)))
  if (!full || !near || !far || !unlimited) throw new Error('The workspaces are missing')
  const quotas = { ...noQuotas, forms: 10 }
  for (const [ctx, count] of [
    [full, 10],
    [near, 9],
    [far, 8],
    [unlimited, 10],
  ] as const) {
    for (let n = 0; n < count; n++) await createTestForm(ctx, { name: `Form ${n}` })
  }
  await setQuotas(unlimited, { forms: 0 })
  const ids = [full, near, far, unlimited].map(({ workspaceId }) => workspaceId)
  const idsOf = async () =>
    (await find(quotas)).data
      .filter(({ quota, workspaceId }) => quota === 'forms' && ids.includes(workspaceId))
      .map(({ workspaceId }) => workspaceId)
  expect(await idsOf()).toEqual([full.workspaceId, near.workspaceId])
  // A quota of a workspace replaces that of the installation.
  await setQuotas(far, { forms: 8 })
  await setQuotas(near, { forms: 100 })
  expect(new Set(await idsOf())).toEqual(new Set([full.workspaceId, far.workspaceId]))
  await deleteWorkspace(full, { name: 'Analytical Engines' })
  expect(await idsOf()).toEqual([far.workspaceId])
})

test('a count that takes too long is left out, and the result says so', async () => {
  const client = await database.pool.connect()
  await client.query('begin; lock table contacts in access exclusive mode')
  const { isIncomplete } = await find(defaultQuotas, 0.9, 200)
  expect(isIncomplete).toBe(true)
  await client.query('rollback')
  client.release()
  expect((await find(defaultQuotas)).isIncomplete).toBe(false)
})
