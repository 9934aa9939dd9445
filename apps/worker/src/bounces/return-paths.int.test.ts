import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { enqueueMail } from '@rapport/core/mail/mails.ts'
import { readSuppressions } from '@rapport/core/consent/consent-records.ts'
import { createTestCampaign, listPendingWork, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { expect, test } from 'vitest'
import { composeReport } from '../../test/delivery-reports/compose-report.ts'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { sendCampaignBatch } from '../jobs/send-campaign-batch.ts'
import { sendMail } from '../jobs/send-mail.ts'
import { readMail } from './parsing/parse-report.ts'
import { findValidToken, recordBounceMail } from './record-bounce-mail.ts'

const settings = { ...testSettings, returnPathDomain: 'bounces.example' }
const database = useTestDatabase()
const ctx = useTestCtx(database)
const smtp = useForTest(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))

/** Records a report about the mail with this envelope sender. */
async function bounce(returnPath: string, email: string) {
  const token = findValidToken(settings, returnPath)
  const status = [
    'Reporting-MTA: dns; mx.example',
    `Final-Recipient: rfc822; ${email}\r\nAction: failed\r\nStatus: 5.1.1`,
  ]
  const content = (await readMail(Buffer.from(composeReport({ status })))) ?? { tokens: [] }
  await recordBounceMail({ db: database.db, settings, requestId: 'test' }, token ?? '', content)
}
const readReasons = async (email: string) => (await readSuppressions(ctx, { email })).map(({ reason }) => reason)

async function send(withReturnPath: boolean) {
  const { id } = await createTestCampaign(ctx, { confirmed: 3 })
  await sendCampaign(ctx, id)
  const [uuid = ''] = await listPendingWork(ctx, 'campaigns')
  await sendCampaignBatch(withReturnPath ? { ...deps, settings } : deps, jobOf(ctx, 'CAMPAIGN_BATCH', uuid))
  return id
}

test('each mail of a campaign has a return path of its own, which finds its recipient', async () => {
  await send(true)
  const paths = smtp.mails.map(({ from }) => from)
  expect(new Set(paths).size).toBe(3)
  for (const path of paths) expect(path).toMatch(/^b\+[a-z0-9]{62}@bounces\.example$/)
  const [mail] = smtp.mails
  const email = mail?.to[0] ?? ''
  await bounce((mail?.from ?? '').toUpperCase(), email)
  expect(await readReasons(email)).toEqual(['BOUNCED'])
  for (const other of smtp.mails.slice(1)) expect(await readReasons(other.to[0] ?? '')).toEqual([])
})

test('a single mail has a return path too', async () => {
  const id = await send(true)
  const before = smtp.mails.length
  const email = 'new@example.com'
  await enqueueMail(ctx, { kind: 'CAMPAIGN_TEST', to: email, data: { campaignId: id, contactId: null } })
  const [uuid = ''] = await listPendingWork(ctx, 'mail')
  await sendMail({ ...deps, settings }, jobOf(ctx, 'MAIL', uuid))
  await bounce(smtp.mails[before]?.from ?? '', email)
  expect(await readReasons(email)).toEqual(['BOUNCED'])
})

test('without a domain for bounces, the return path is the sender address', async () => {
  await send(false)
  expect(smtp.mails.map(({ from }) => from)).toEqual(smtp.mails.map(() => testSettings.mailFrom))
})
