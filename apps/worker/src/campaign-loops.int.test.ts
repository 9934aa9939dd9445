/** Clients change a campaign in a loop while a worker sends it. */
import { pauseCampaign, resumeCampaign, retryCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { countRecipients, createTestCampaign } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, onTestFinished, test } from 'vitest'
import { shortTimings, silentLog, testWorkerConfig } from '../test/fixtures.ts'
import { startWorker } from './worker.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const smtp = useForFile(() => startSmtpReceiver())
const recipientCount = 300

test('20 clients that pause, resume and retry cause no email twice', async () => {
  const { id } = await createTestCampaign(ctx, { confirmed: recipientCount })
  const config = { DATABASE_URL: database.url, SMTP_URL: smtp.url, MAIL_RATE: '150' }
  const worker = await startWorker(testWorkerConfig(config), silentLog, { timings: shortTimings })
  onTestFinished(() => worker.close())
  await sendCampaign(ctx, id)
  const changes = [
    () => pauseCampaign(ctx, id),
    () => resumeCampaign(ctx, id),
    () => retryCampaign(ctx, id, { includeInterrupted: true }),
    () => sendCampaign(ctx, id),
  ]
  const clients = Array.from({ length: 20 }, async (_, client) => {
    for (let round = 0; round < 20 || smtp.mails.length < recipientCount / 4; round += 1) {
      await changes[(client + round) % changes.length]?.().catch((error: unknown) => {
        if (!(error instanceof AppError && error.code === 'wrong_state')) throw error
      })
    }
  })
  await Promise.all(clients)
  await resumeCampaign(ctx, id).catch(() => {})
  await waitUntil(async () => (await countRecipients(ctx, id))['SENT'] === recipientCount, {
    describe: 'every recipient has the email',
    timeoutMs: 30_000,
  })
  const recipients = smtp.mails.flatMap(({ to }) => to)
  expect(recipients).toHaveLength(recipientCount)
  expect(new Set(recipients)).toHaveProperty('size', recipientCount)
})
