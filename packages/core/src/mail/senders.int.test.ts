import { eq } from 'drizzle-orm'
import { beforeAll, expect, test } from 'vitest'
import { loadCampaignRenderer } from '../campaigns/campaign-mail.ts'
import { updateCampaign } from '../campaigns/campaigns.ts'
import { sendCampaign } from '../campaigns/send-campaign.ts'
import type { Ctx } from '../request/context.ts'
import { workspaces } from '../db/schema/index.ts'
import { createTestCampaign, createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { updateWorkspace } from '../workspaces/update-workspace.ts'

const database = useTestDatabase()
let free: Ctx
let bound: Ctx
beforeAll(async () => {
  free = await createTestCtx(database.db)
  bound = { ...free, settings: { ...free.settings, mailFromDomains: ['example.org', 'example.net'] } }
})

const refused = {
  code: 'invalid',
  issues: [{ path: 'fromEmail', message: 'must be an address at example.org or example.net' }],
}
const wrong = ['ceo@bank.example', 'a@sub.example.org', 'a@example.org.evil.example', 'a@notexample.org']

test.each(wrong)('an address that mail may not come from, %s, is refused where it is saved', async (fromEmail) => {
  const { id } = await createTestCampaign(free)
  await expect(createTestCampaign(bound, { fromEmail })).rejects.toMatchObject(refused)
  await expect(updateCampaign(bound, id, { fromEmail })).rejects.toMatchObject(refused)
  await expect(updateWorkspace(bound, { fromEmail })).rejects.toMatchObject(refused)
})

test('one that it may come from is taken, whatever its capitals, and where no domain is named, any', async () => {
  const senders = [
    await createTestCampaign(bound, { fromEmail: 'News@Example.NET' }),
    await updateWorkspace(bound, { fromEmail: 'news@example.org' }),
    await updateWorkspace(bound, { fromEmail: null }),
    await createTestCampaign(free, { fromEmail: 'ceo@bank.example' }),
  ]
  expect(senders.map(({ fromEmail }) => fromEmail)).toEqual([
    'News@Example.NET',
    'news@example.org',
    null,
    'ceo@bank.example',
  ])
})

test('what was saved before the operator named domains is refused when it is sent, and nothing goes out by it', async () => {
  const own = await createTestCampaign(free, { fromEmail: 'ceo@bank.example', confirmed: 1 })
  await expect(sendCampaign(bound, own.id)).rejects.toMatchObject(refused)
  const ctx = await createTestCtx(database.db)
  const campaign = await createTestCampaign(ctx, { confirmed: 1 })
  await ctx.db.update(workspaces).set({ fromEmail: 'ceo@bank.example' }).where(eq(workspaces.id, ctx.workspaceId))
  const boundCtx = { ...ctx, settings: bound.settings }
  await expect(sendCampaign(boundCtx, campaign.id)).rejects.toMatchObject(refused)
  expect(await sendCampaign(ctx, campaign.id)).toEqual({ queued: 1 })
  // One that was on its way by then comes from the operator's own address.
  const { render } = await loadCampaignRenderer(boundCtx, campaign.id)
  expect(await render([await createTestContact(ctx)])).toMatchObject([
    { mail: { from: { address: ctx.settings.mailFrom } } },
  ])
})
