import { connect } from 'node:net'
import { readStats } from '@rapport/core/campaigns/campaign-stats.ts'
import { RecipientQuery } from '@rapport/core/campaigns/campaigns.schema.ts'
import { listRecipients } from '@rapport/core/campaigns/list-recipients.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { openDatabase } from '@rapport/core/db/client.ts'
import { readEmail } from '@rapport/core/emails/emails.ts'
import { uuidOf } from '@rapport/core/kernel/ids.ts'
import { createReturnPath } from '@rapport/core/mail/bounces/recipient-token.ts'
import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import {
  createTestCampaign,
  createTestCtx,
  createTestWebhook,
  listPendingWork,
  testSettings,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { openSmtpConversation } from '@rapport/testing/network/smtp-conversation.ts'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { composeComplaint, composeReport } from '../../test/delivery-reports/compose-report.ts'
import { noBounces } from '../../test/delivery-reports/no-bounces.ts'
import { listenerOptions, reportOf, useListener } from '../../test/delivery-reports/use-listener.ts'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { sendCampaignBatch } from '../jobs/send-campaign-batch.ts'
import { openBounceListener } from './bounce-listener.ts'

const listened = useListener(3)
const { database, readSent, recipientOf, emailOf, pathOf } = listened
const { deliver, deliverAll, deliverTo, readSuppressed, listBounces } = listened
const smtp = useForFile(() => startSmtpReceiver())

async function readCampaignStats() {
  const { ctx, campaignId } = readSent()
  return readStats(ctx, campaignId)
}

test('a delivery report is recorded before the response 250, and counts once', async () => {
  for (let time = 0; time < 2; time++) {
    const responses = await deliver(reportOf(emailOf(0)), pathOf(0))
    expect(responses.map((line) => line.slice(0, 3))).toEqual(['250', '354', '250'])
  }
  expect(await readSuppressed()).toEqual(['BOUNCED', undefined, undefined])
  expect(await listBounces()).toEqual(['mail.bounced'])
  expect(await readCampaignStats()).toMatchObject({ bounced: 1, bouncesByClass: { HARD: 1 } })
  const { data } = await listRecipients(
    readSent().ctx,
    readSent().campaignId,
    RecipientQuery.parse({ contactId: recipientOf(0).id }),
  )
  expect(data).toMatchObject([{ bounceClass: 'HARD', bounceCode: '5.1.1' }])
})

test('a long response that is cut within a character is recorded as valid Unicode', async () => {
  const diagnostic = `Diagnostic-Code: smtp; 550 ${'x'.repeat(1_995)}\u{1f4eb}`
  const status = [
    'Reporting-MTA: dns; mx.example',
    `Final-Recipient: rfc822; ${emailOf(0)}\r\nAction: failed\r\n${diagnostic}`,
  ]
  await deliver(composeReport({ status, encoding: 'base64' }), pathOf(0))
  const { rows } = await database.pool.query<{ data: { detail: string } }>(
    `select data from events where type = 'mail.bounced' and workspace_id = $1`,
    [uuidOf(readSent().ctx.workspaceId)],
  )
  expect(rows.map(({ data }) => [data.detail.length, data.detail.isWellFormed()])).toEqual([[1_999, true]])
})

test('a report for two recipients counts for each by its own group', async () => {
  const group = (index: number, action: string, status: string) =>
    `Final-Recipient: rfc822; ${emailOf(index)}\r\nAction: ${action}\r\nStatus: ${status}`
  const raw = composeReport({
    status: [
      'Reporting-MTA: dns; mx.example',
      group(0, 'failed', '5.2.2'),
      group(1, 'failed', '5.1.1'),
      group(2, 'delayed', '4.4.1'),
    ],
  })
  await deliver(raw, pathOf(0), pathOf(1), pathOf(2))
  expect(await readSuppressed()).toEqual([undefined, 'BOUNCED', undefined])
  expect(await readCampaignStats()).toMatchObject({ bouncesByClass: { HARD: 1, SOFT: 1 } })
})

test('a bounce of another address, such as a member of a list, suppresses none', async () => {
  for (const status of ['5.1.1', '5.2.2']) await deliver(reportOf('member@other.example', status), pathOf(0))
  expect(await readSuppressed()).toEqual([undefined, undefined, undefined])
  expect(await listBounces()).toEqual([])
  expect(await readCampaignStats()).toMatchObject({ bounced: 0, bouncesByClass: { HARD: 0, SOFT: 1 } })
})

/** A complaint with the header of the returned email, in the format of RFC 5965 or of Microsoft. */
const complaints = {
  ARF: (path: string) => composeComplaint(`Original-Mail-From: <${path}>`, 'Original-Rcpt-To: redacted'),
  Microsoft: (path: string) =>
    composeReport({
      from: 'staff@hotmail.com',
      subject: 'complaint about message from 192.0.2.7',
      status: ['-'],
      statusType: 'text/plain',
    }).replace(
      'Message-ID: <1@crm.example>',
      `X-HmXmrOriginalRecipient: redacted\r\nReturn-Path: ${path.replace('+', '=2B')}`,
    ),
}

test.each(Object.entries(complaints))('a feedback loop reports a complaint in the form of %s', async (_, compose) => {
  const responses = await deliver(compose(pathOf(1)), 'fbl@bounces.example')
  expect(responses.at(-1)).toMatch(/^250/)
  expect(await readSuppressed()).toEqual([undefined, 'COMPLAINED', undefined])
})

test('a feedback loop reports a complaint about an email to one person', async () => {
  const { ctx } = readSent()
  const template = await createTestTemplate(ctx)
  const { id } = await createTestEmail(ctx, template.id, { to: { contactId: recipientOf(2).id } })
  const path = createReturnPath(ctx, { host: 'bounces.example', subject: { emailId: id }, email: emailOf(2) })
  expect((await deliver(complaints.ARF(path), 'fbl@bounces.example')).at(-1)).toMatch(/^250/)
  expect(await readEmail(ctx, id)).toMatchObject({ complainedAt: expect.any(String) })
  expect(await readSuppressed()).toEqual([undefined, undefined, 'COMPLAINED'])
})

test('a bounce that quotes a link of an email to one person: nothing keeps the link', async () => {
  const { ctx } = readSent()
  await createTestWebhook(ctx, { eventTypes: ['mail.bounced'] })
  const template = await createTestTemplate(ctx)
  const { id } = await createTestEmail(ctx, template.id, { to: { contactId: recipientOf(2).id } })
  const path = createReturnPath(ctx, { host: 'bounces.example', subject: { emailId: id }, email: emailOf(2) })
  const quoted = '554 5.7.1 blocked URL https://shop.example/reset/planted-link'
  const recipient = `Final-Recipient: rfc822; ${emailOf(2)}\r\nAction: failed\r\nStatus: 5.7.1`
  const status = ['Reporting-MTA: dns; mx.example', `${recipient}\r\nDiagnostic-Code: smtp; ${quoted}`]
  const logged: string[] = []
  const log = pino({ level: 'trace' }, { write: (line: string) => void logged.push(line) })
  const logging = await openBounceListener({ db: database.db, settings: testSettings }, { ...listenerOptions, log })
  await deliverTo(logging.port, composeReport({ status, text: quoted }), path)
  await logging.close()
  expect(await readEmail(ctx, id)).toMatchObject({ bounceClass: 'POLICY', bounceCode: '5.7.1' })
  const { rows } = await database.pool.query<{ row: { data?: { detail: string } } }>(
    `select to_jsonb(e) as row from events e where type = 'mail.bounced' and workspace_id = $1
      union all select to_jsonb(d) from deliveries d where workspace_id = $1`,
    [uuidOf(ctx.workspaceId)],
  )
  expect(rows).toHaveLength(2)
  expect(rows.flatMap(({ row }) => row.data?.detail ?? [])).toEqual(['554 5.7.1 blocked URL [value]'])
  expect(JSON.stringify([rows, logged])).not.toMatch(/planted|shop/)
})

test('a feedback loop without a valid token is refused, and changes nothing', async () => {
  const changed = pathOf(1).replace(/.@/, (end) => (end === '0@' ? '1@' : '0@'))
  for (const path of [changed, 'news@crm.example']) {
    expect((await deliver(complaints.ARF(path), 'FBL@bounces.example')).at(-1)).toMatch(/^550/)
  }
  const notSpam = complaints.ARF(pathOf(1)).replace('abuse', 'not-spam')
  expect((await deliver(notSpam, 'fbl@bounces.example')).at(-1)).toMatch(/^250/)
  expect((await deliver(reportOf(pathOf(1)), 'fbl@bounces.example')).at(-1)).toMatch(/^250/)
  expect(await listBounces()).toEqual([])
})

test('a bounce is recorded also if the feedback loop is a recipient of the mail', async () => {
  const responses = await deliver(reportOf(emailOf(0)), 'fbl@bounces.example', pathOf(0))
  expect(responses.at(-1)).toMatch(/^250/)
  expect(await readSuppressed()).toEqual(['BOUNCED', undefined, undefined])
})

test('a complaint without an address counts for the recipient of the return path', async () => {
  await deliver(composeComplaint('Original-Rcpt-To: redacted'), pathOf(1))
  expect(await readSuppressed()).toEqual([undefined, 'COMPLAINED', undefined])
})

test('mails that are no bounce change nothing', async () => {
  const responses = await deliverAll(
    noBounces.map(([, raw]) => raw),
    pathOf(0),
  )
  expect(responses.filter((response) => !response.startsWith('250'))).toEqual([])
  expect(await listBounces()).toEqual([])
})

test('while PostgreSQL fails, the sender is asked to repeat the mail', async () => {
  const { db } = openDatabase('postgres://rapport@127.0.0.1:1/none', { applicationName: 'away', onError: () => {} })
  const broken = await openBounceListener({ db, settings: testSettings }, listenerOptions)
  const smtp = await openSmtpConversation(broken.port)
  for (const command of ['EHLO a', 'MAIL FROM:<>', `RCPT TO:<${pathOf(0)}>`, 'DATA']) await smtp.send(command)
  expect(await smtp.send(`${reportOf(emailOf(0))}\r\n.`)).toMatch(/^451/)
  smtp.close()
  await broken.close()
})

/** Makes bounces wait until `release` is called. */
async function blockBounces() {
  const holder = await database.pool.connect()
  await holder.query('begin; lock table mail_reports in access exclusive mode')
  const countBlocked = async () => {
    const { rows } = await holder.query<{ count: string }>(
      `select count(*) from pg_locks where relation = 'mail_reports'::regclass and not granted`,
    )
    return Number(rows[0]?.count)
  }
  const release = async () => {
    await holder.query('rollback')
    holder.release()
  }
  return { countBlocked, release }
}

test('a listener that closes while bounces wait confirms none that is not recorded', async () => {
  const closing = await openBounceListener({ db: database.db, settings: testSettings }, listenerOptions)
  const { countBlocked, release } = await blockBounces()
  const waiting = [0, 1, 2].map(async (index) => {
    const smtp = await openSmtpConversation(closing.port)
    for (const command of ['EHLO a', 'MAIL FROM:<>', `RCPT TO:<${pathOf(index)}>`, 'DATA']) await smtp.send(command)
    return smtp.send(`${reportOf(emailOf(index))}\r\n.`)
  })
  await expect.poll(countBlocked).toBe(2)
  await closing.close()
  expect((await Promise.all(waiting)).filter((response) => response.startsWith('250'))).toEqual([])
  await release()
  for (const index of [0, 1, 2]) expect((await deliver(reportOf(emailOf(index)), pathOf(index))).at(-1)).toMatch(/^250/)
  expect(await listBounces()).toEqual(Array(3).fill('mail.bounced'))
})

test('bounces that wait for the database delay no campaign', async () => {
  const ctx = await createTestCtx(database.db)
  const { countBlocked, release } = await blockBounces()
  const waiting = Array.from({ length: 20 }, (_, at) => deliver(reportOf(emailOf(at % 3)), pathOf(at % 3)))
  await expect.poll(countBlocked).toBe(2)
  const deps = await createTestDeps(database.db, { smtpUrl: smtp.url })
  const { id } = await createTestCampaign(ctx, { confirmed: 5 })
  await sendCampaign(ctx, id)
  const [batch = ''] = await listPendingWork(ctx, 'campaigns')
  await sendCampaignBatch(deps, jobOf(ctx, 'CAMPAIGN_BATCH', batch))
  expect(await readStats(ctx, id)).toMatchObject({ sent: 5 })
  expect(await countBlocked()).toBe(2)
  await release()
  for (const responses of await Promise.all(waiting)) expect(responses.at(-1)).toMatch(/^250/)
  await deps.close()
})

test('a connection that stays open is closed after its timeout', async () => {
  const short = await openBounceListener(
    { db: database.db, settings: testSettings },
    { ...listenerOptions, connectionMs: 50 },
  )
  const socket = connect(short.port, '127.0.0.1').on('error', () => {})
  const timer = setInterval(() => socket.write('NOOP\r\n'), 5)
  const closed = await new Promise((resolve) => socket.once('close', () => resolve('closed')))
  expect(closed).toBe('closed')
  clearInterval(timer)
  await short.close()
})

test('a second worker on the machine takes over the port when the first one stops', async () => {
  const base = { db: database.db, settings: testSettings }
  const first = await openBounceListener(base, listenerOptions)
  const second = await openBounceListener(base, { ...listenerOptions, port: first.port })
  await first.close()
  const isReachable = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(first.port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.once('data', () => socket.destroy())
    })
  await expect.poll(isReachable).toBe(true)
  await second.close()
})
