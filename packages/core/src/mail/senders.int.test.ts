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
let unrestricted: Ctx
let restricted: Ctx
beforeAll(async () => {
  unrestricted = await createTestCtx(database.db)
  restricted = {
    ...unrestricted,
    settings: { ...unrestricted.settings, mailFromDomains: ['example.org', 'example.net'] },
  }
})

const senderError = {
  code: 'validation_error',
  issues: [{ path: 'fromEmail', message: 'must be an address at example.org or example.net' }],
}
const wrong = ['ceo@bank.example', 'a@sub.example.org', 'a@example.org.evil.example', 'a@notexample.org']

test.each(wrong)('the sender %s, outside the allowed domains, cannot be saved', async (fromEmail) => {
  const { id } = await createTestCampaign(unrestricted)
  await expect(createTestCampaign(restricted, { fromEmail })).rejects.toMatchObject(senderError)
  await expect(updateCampaign(restricted, id, { fromEmail })).rejects.toMatchObject(senderError)
  await expect(updateWorkspace(restricted, { fromEmail })).rejects.toMatchObject(senderError)
})

test('a sender of an allowed domain can be saved, in upper or lower case', async () => {
  const senders = [
    await createTestCampaign(restricted, { fromEmail: 'News@Example.NET' }),
    await updateWorkspace(restricted, { fromEmail: 'news@example.org' }),
    await updateWorkspace(restricted, { fromEmail: null }),
    await createTestCampaign(unrestricted, { fromEmail: 'ceo@bank.example' }),
  ]
  expect(senders.map(({ fromEmail }) => fromEmail)).toEqual([
    'News@Example.NET',
    'news@example.org',
    null,
    'ceo@bank.example',
  ])
})

test('a sender that was saved before the restriction is not used', async () => {
  const own = await createTestCampaign(unrestricted, { fromEmail: 'ceo@bank.example', confirmed: 1 })
  await expect(sendCampaign(restricted, own.id)).rejects.toMatchObject(senderError)
  const ctx = await createTestCtx(database.db)
  const campaign = await createTestCampaign(ctx, { confirmed: 1 })
  await ctx.db.update(workspaces).set({ fromEmail: 'ceo@bank.example' }).where(eq(workspaces.id, ctx.workspaceId))
  const restrictedCtx = { ...ctx, settings: restricted.settings }
  await expect(sendCampaign(restrictedCtx, campaign.id)).rejects.toMatchObject(senderError)
  expect(await sendCampaign(ctx, campaign.id)).toEqual({ queued: 1 })
  // A campaign that is already SENDING uses `MAIL_FROM`.
  const { render } = await loadCampaignRenderer(restrictedCtx, campaign.id)
  expect(await render([await createTestContact(ctx)])).toMatchObject([
    { mail: { from: { address: ctx.settings.mailFrom } } },
  ])
})
