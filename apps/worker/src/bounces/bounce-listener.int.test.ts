import { connect } from 'node:net'
import { openDatabase } from '@rapport/core/db/client.ts'
import { readStats } from '@rapport/core/campaigns/campaign-stats.ts'
import { RecipientQuery } from '@rapport/core/campaigns/campaigns.schema.ts'
import { listRecipients } from '@rapport/core/campaigns/list-recipients.ts'
import { type CampaignId, type ContactId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { createRecipientToken, toReturnPath } from '@rapport/core/mail/bounces/recipient-token.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { readSuppressions } from '@rapport/core/subscriptions/find-suppressions.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { createTestCtx, createTestWorker, listEventTypes, testSettings } from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openSmtpConversation } from '@rapport/testing/network/smtp-conversation.ts'
import { beforeEach, expect, test } from 'vitest'
import { composeComplaint, composeReport } from '../../test/delivery-reports/compose-report.ts'
import { noBounces } from '../../test/delivery-reports/no-bounces.ts'
import { silentLog } from '../../test/fixtures.ts'
import { openBounceListener } from './bounce-listener.ts'

const database = useTestDatabase()
const listener = useForFile(() =>
  openBounceListener(
    { db: database.db, settings: testSettings },
    { host: '127.0.0.1', port: 0, connectionTimeoutMs: 60_000, retryMs: 20, log: silentLog },
  ),
)
let ctx: Ctx
let campaignId: CampaignId
let recipients: { id: ContactId; email: string }[]
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  const { id, batches } = await startTestCampaign(ctx, 3)
  campaignId = id
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  const sent = await sendTestBatch(ctx, batch)
  recipients = sent.recipients.toSorted((one, other) => one.email.localeCompare(other.email))
})

const emailOf = (index: number) => recipients[index]?.email ?? ''
/** The return path of the mail to a recipient. */
function pathOf(index: number, of = ctx) {
  const recipient = recipients[index]
  if (!recipient) throw new Error('There is no such recipient')
  const subject = { campaignId, contactId: recipient.id }
  const token = createRecipientToken(of.settings.keys, { workspaceId: of.workspaceId, subject, email: recipient.email })
  return `${toReturnPath(token)}@bounces.example`
}

const reportOf = (email: string, status = '5.1.1', action = 'failed') =>
  composeReport({
    status: [
      'Reporting-MTA: dns; mx.example',
      `Final-Recipient: rfc822; ${email}\r\nAction: ${action}\r\nStatus: ${status}`,
    ],
  })

/** Sends a mail and returns the response to each command. */
async function deliver(raw: string, ...paths: string[]): Promise<string[]> {
  const smtp = await openSmtpConversation(listener.port)
  const commands = ['EHLO mx.example', 'MAIL FROM:<>', ...paths.map((path) => `RCPT TO:<${path}>`), 'DATA']
  const responses: string[] = []
  for (const command of commands) responses.push(await smtp.send(command))
  if (responses.at(-1)?.startsWith('354')) responses.push(await smtp.send(`${raw}\r\n.`))
  smtp.close()
  return responses.slice(2)
}

async function readSuppressed() {
  const reasons = await Promise.all(recipients.map(({ email }) => readSuppressions(ctx, { email })))
  return reasons.map(([strictest]) => strictest?.reason)
}
const listBounces = async () => (await listEventTypes(ctx)).filter((type) => type.startsWith('mail.'))

test('a delivery report is recorded before the response 250, and counts once', async () => {
  for (let time = 0; time < 2; time++) {
    const responses = await deliver(reportOf(emailOf(0)), pathOf(0))
    expect(responses.map((line) => line.slice(0, 3))).toEqual(['250', '354', '250'])
  }
  expect(await readSuppressed()).toEqual(['BOUNCED', undefined, undefined])
  expect(await listBounces()).toEqual(['mail.bounced'])
  expect(await readStats(ctx, campaignId)).toMatchObject({ bounced: 1, bouncesByClass: { HARD: 1 } })
  const { data } = await listRecipients(ctx, campaignId, RecipientQuery.parse({ contactId: recipients[0]?.id }))
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
    [uuidOf(ctx.workspaceId)],
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
  expect(await readStats(ctx, campaignId)).toMatchObject({ bouncesByClass: { HARD: 1, SOFT: 1 } })
})

test('a complaint without an address counts for the recipient of the return path', async () => {
  await deliver(composeComplaint('Original-Rcpt-To: redacted'), pathOf(1))
  expect(await readSuppressed()).toEqual([undefined, 'COMPLAINED', undefined])
})

test('mails that are no bounce change nothing', async () => {
  for (const [, raw] of noBounces) expect((await deliver(raw, pathOf(0))).at(-1)).toMatch(/^250/)
  expect(await listBounces()).toEqual([])
})

test('return paths that are guessed, changed or of another key are refused at RCPT', async () => {
  const valid = pathOf(0)
  const [local = '', host = ''] = valid.split('@')
  const other = await createTestCtx(database.db)
  const foreign = {
    ...other,
    settings: { ...other.settings, keys: { ...other.settings.keys, returnPaths: other.settings.keys.links } },
  }
  const wrong = [
    `${local.slice(0, -1)}${local.endsWith('0') ? '1' : '0'}@${host}`,
    `b+${'0'.repeat(62)}@${host}`,
    `b+@${host}`,
    `postmaster@${host}`,
    pathOf(0, foreign),
  ]
  const responses = await deliver('', ...wrong)
  expect(responses.map((line) => line.slice(0, 9))).toEqual([
    ...wrong.map(() => '550 5.1.1'),
    expect.stringMatching(/^503/),
  ])
  expect(await listBounces()).toEqual([])
})

test('many guesses end the connection', async () => {
  const responses = await deliver('', ...Array.from({ length: 12 }, (_, at) => `b+c${at}@bounces.example`))
  expect(responses.filter((line) => line.startsWith('550'))).toHaveLength(10)
  expect(responses[10]).toMatch(/^421/)
})

test('a report suppresses only the recipient of its return path, in its workspace', async () => {
  const other = await createTestCtx(database.db)
  await deliver(reportOf(emailOf(0)), pathOf(0, other))
  expect(await readSuppressed()).toEqual([undefined, undefined, undefined])
  await deliver(reportOf(emailOf(2)), pathOf(0))
  expect(await readSuppressed()).toEqual(['BOUNCED', undefined, undefined])
})

test('a message above 512 KiB and a bomb of headers change nothing', async () => {
  const report = reportOf(emailOf(0))
  const large = await deliver(`${report}${`${'x'.repeat(998)}\r\n`.repeat(1_050)}`, pathOf(0))
  expect(large.at(-1)).toMatch(/^552/)
  const headers = Array.from({ length: 8_000 }, (_, at) => `X-${at}: ${'y'.repeat(40)}`).join('\r\n')
  expect((await deliver(`${headers}\r\n${report}`, pathOf(0))).at(-1)).toMatch(/^250/)
  expect(await listBounces()).toEqual([])
})

test('a client that pipelines many recipients gets a response to each', async () => {
  const commands = Array.from({ length: 30 }, () => `RCPT TO:<${pathOf(1)}>\r\n`)
  const smtp = await openSmtpConversation(listener.port)
  await smtp.send('EHLO mx.example')
  await smtp.send('MAIL FROM:<>')
  const responses = await smtp.sendPipelined(commands.join(''), commands.length)
  // A repeated recipient counts once.
  expect(responses.every((line) => line.startsWith('250'))).toBe(true)
  smtp.close()
})

test('it neither relays nor authenticates', async () => {
  const smtp = await openSmtpConversation(listener.port)
  const greeting = await smtp.send('EHLO mx.example')
  expect(greeting).not.toMatch(/AUTH|STARTTLS/)
  expect(await smtp.send('AUTH PLAIN AHRlc3QAdGVzdA==')).toMatch(/^5/)
  expect(await smtp.send('VRFY ada')).toMatch(/^252|^5/)
  await smtp.send('MAIL FROM:<eve@example.com>')
  expect(await smtp.send('RCPT TO:<victim@example.org>')).toMatch(/^550/)
  smtp.close()
})

test('while PostgreSQL fails, the sender is asked to repeat the mail', async () => {
  const { db } = openDatabase('postgres://rapport@127.0.0.1:1/none', { applicationName: 'away', onError: () => {} })
  const broken = await openBounceListener(
    { db, settings: testSettings },
    { host: '127.0.0.1', port: 0, connectionTimeoutMs: 60_000, retryMs: 20, log: silentLog },
  )
  const smtp = await openSmtpConversation(broken.port)
  for (const command of ['EHLO a', 'MAIL FROM:<>', `RCPT TO:<${pathOf(0)}>`, 'DATA']) await smtp.send(command)
  expect(await smtp.send(`${reportOf(emailOf(0))}\r\n.`)).toMatch(/^451/)
  smtp.close()
  await broken.close()
})

test('a connection that stays open is closed after its timeout', async () => {
  const short = await openBounceListener(
    { db: database.db, settings: testSettings },
    { host: '127.0.0.1', port: 0, connectionTimeoutMs: 50, retryMs: 20, log: silentLog },
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
  const options = { host: '127.0.0.1', connectionTimeoutMs: 60_000, retryMs: 20, log: silentLog }
  const first = await openBounceListener(base, { ...options, port: 0 })
  const second = await openBounceListener(base, { ...options, port: first.port })
  await first.close()
  const isReachable = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(first.port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
      socket.once('data', () => socket.destroy())
    })
  await expect.poll(isReachable).toBe(true)
  await second.close()
})
