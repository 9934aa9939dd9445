/** The work of a suspended workspace waits until the workspace is resumed. */
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { createContact } from '@rapport/core/contacts/create-contact.ts'
import { subscribe } from '@rapport/core/lists/subscribe.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { findPublishableWork } from '@rapport/core/work/publish.ts'
import { findBacklogs } from '@rapport/core/webhooks/drain/find-backlogs.ts'
import { resumeWorkspace, suspendWorkspace } from '@rapport/core/workspaces/suspension.ts'
import {
  countDeliveries,
  countRecipients,
  createTestCampaign,
  createTestCtx,
  createTestList,
  createTestWebhook,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver, startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, expect, test } from 'vitest'
import { shortTimings, silentLog, testWorkerConfig } from '../test/fixtures.ts'
import { startWorker } from './worker.ts'

const database = useTestDatabase()
const http = useForFile(() => startHttpReceiver())
const smtp = useForFile(() => startSmtpReceiver())
let worker: Awaited<ReturnType<typeof startWorker>> | undefined
afterEach(() => worker?.close())

const until = (describe: string, isSo: () => Promise<boolean>) => waitUntil(isSo, { describe, timeoutMs: 20_000 })
const mailsTo = (name: string) => smtp.mails.filter(({ to }) => to.some((address) => address.startsWith(name))).length

/** Enqueues a campaign, a single mail and a delivery. Returns the campaign. */
async function enqueueWork(ctx: Ctx, name: string) {
  await createTestWebhook(ctx, { url: http.url, eventTypes: ['contact.created'] })
  const campaign = await createTestCampaign(ctx, { confirmed: 3 })
  await sendCampaign(ctx, campaign.id)
  const list = await createTestList(ctx)
  await subscribe(ctx, list.id, { email: `${name}@example.com`, firstName: '', lastName: '' })
  await createContact(ctx, { email: `${name}-2@example.com` })
  return campaign
}

test('campaigns, emails and webhooks wait, and continue once resumed', async () => {
  const [suspended, other] = [await createTestCtx(database.db), await createTestCtx(database.db)]
  const campaign = await enqueueWork(suspended, 'waiting')
  await suspendWorkspace(suspended)
  const otherCampaign = await enqueueWork(other, 'other')
  worker = await startWorker(testWorkerConfig({ DATABASE_URL: database.url, SMTP_URL: smtp.url }), silentLog, {
    timings: shortTimings,
  })

  await until('the other campaign is sent', async () => (await countRecipients(other, otherCampaign.id))['SENT'] === 3)
  await until('the other mail is sent', async () => mailsTo('other@') === 1)
  await until('the other event is delivered', async () => (await countDeliveries(other))['PENDING'] === undefined)
  const published = (await findPublishableWork(database.db)).map(({ workspaceId }) => workspaceId)
  const { workspaceIds } = await findBacklogs(database.db)
  expect([...published, ...workspaceIds]).not.toContain(suspended.workspaceId)
  expect(await countRecipients(suspended, campaign.id)).toEqual({})
  expect(Object.keys(await countDeliveries(suspended))).toEqual(['PENDING'])
  expect(mailsTo('waiting@')).toBe(0)

  await resumeWorkspace(suspended)
  await until('the campaign is sent', async () => (await countRecipients(suspended, campaign.id))['SENT'] === 3)
  await until('the mail is sent', async () => mailsTo('waiting@') === 1)
  await until('the event is delivered', async () => (await countDeliveries(suspended))['PENDING'] === undefined)
})
