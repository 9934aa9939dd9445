import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { createRecipientToken, toReturnPath } from '@rapport/core/mail/bounces/recipient-token.ts'
import { readSuppressions } from '@rapport/core/consent/consent-records.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { createTestWorker, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import { openSmtpConversation } from '@rapport/testing/network/smtp-conversation.ts'
import { expect, test } from 'vitest'
import { composeReport } from '../../test/delivery-reports/compose-report.ts'
import { startWorkerProcess } from '../../test/worker-processes.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const proxy = useForFile(() => startTestProxy(database.url))

test('kill -9 between the commit and the response: the sender repeats, one bounce', async () => {
  const { id: campaignId, batches } = await startTestCampaign(ctx, 1)
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  const [ada] = (await sendTestBatch(ctx, batch)).recipients
  if (!ada) throw new Error('There is no recipient')
  const { workspaceId, settings } = ctx
  const subject = { campaignId, contactId: ada.id }
  const path = toReturnPath(createRecipientToken(settings.keys, { workspaceId, subject, email: ada.email }))
  const status = `Final-Recipient: rfc822; ${ada.email}\r\nAction: failed\r\nStatus: 5.1.1`
  const raw = composeReport({ status: ['Reporting-MTA: dns; mx.example', status] })
  const port = await findFreePort()
  const start = (url: string) => startWorkerProcess({ env: { DATABASE_URL: url, BOUNCE_PORT: String(port) } })
  async function deliver() {
    const smtp = await openSmtpConversation(port)
    for (const command of ['EHLO a', 'MAIL FROM:<>', `RCPT TO:<${path}@bounces.example>`, 'DATA'])
      await smtp.send(command)
    const response = await smtp.send(`${raw}\r\n.`)
    smtp.close()
    return response
  }
  const listBounces = async () => (await listEventTypes(ctx)).filter((type) => type === 'mail.bounced')

  const first = await start(proxy.url)
  // The transaction commits, and the worker never learns it.
  proxy.cut(/commit/, 'response')
  const interrupted = deliver()
  await expect.poll(listBounces).toEqual(['mail.bounced'])
  first.kill('SIGKILL')
  expect(await interrupted).not.toMatch(/^250/)
  await first.exited

  const second = await start(database.url)
  expect(await deliver()).toMatch(/^250/)
  expect(await listBounces()).toEqual(['mail.bounced'])
  expect(await readSuppressions(ctx, { email: ada.email })).toMatchObject([{ reason: 'BOUNCED' }])
  second.kill('SIGTERM')
  await second.exited
})
