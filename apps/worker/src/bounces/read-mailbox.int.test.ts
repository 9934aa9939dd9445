import { type Db, openDatabase } from '@rapport/core/db/client.ts'
import { type ContactId, newId } from '@rapport/core/kernel/ids.ts'
import { createRecipientToken, toReturnPath } from '@rapport/core/mail/bounces/recipient-token.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { readSuppressions } from '@rapport/core/consent/consent-records.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import { createTestCtx, createTestWorker, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { useForTest, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startImapServer } from '@rapport/testing/network/imap-server.ts'
import { beforeEach, expect, test } from 'vitest'
import { composeComplaint, composeReport } from '../../test/delivery-reports/compose-report.ts'
import { silentLog } from '../../test/fixtures.ts'
import { readMail } from './parsing/parse-report.ts'
import { readMailbox, startMailboxReader } from './read-mailbox.ts'

const database = useTestDatabase()
const imap = useForTest(() => startImapServer())
let ctx: Ctx
let ada: { id: ContactId; email: string }
let returnPath: string
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  const { id: campaignId, batches } = await startTestCampaign(ctx, 1)
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  const [recipient] = (await sendTestBatch(ctx, batch)).recipients
  if (!recipient) throw new Error('There is no recipient')
  ada = recipient
  const subject = { campaignId, contactId: ada.id }
  const token = createRecipientToken(ctx.settings.keys, { workspaceId: ctx.workspaceId, subject, email: ada.email })
  returnPath = `${toReturnPath(token)}@bounces.example`
})

const addMessage = (header: string, status = '5.1.1') => {
  const group = `Final-Recipient: rfc822; ${ada.email}\r\nAction: failed\r\nStatus: ${status}`
  const raw = composeReport({ headers: [header], status: ['Reporting-MTA: dns; mx.example', group] })
  imap.messages.push({ raw, seen: false })
}
const parser = { read: readMail }
const base = (db = database.db) => ({ db, settings: ctx.settings })
const read = (db?: Db) => readMailbox(base(db), { url: imap.url, log: silentLog, parser })
const listBounces = async () => (await listEventTypes(ctx)).filter((type) => type === 'mail.bounced')
const isSeen = () => imap.messages.map(({ seen }) => seen)

test.each(['Delivered-To', 'X-Original-To', 'Envelope-To'])('reads a bounce by the header %s', async (header) => {
  addMessage(`${header}: ${returnPath}`)
  addMessage('Delivered-To: b+forged@bounces.example')
  expect(await read()).toBe(2)
  expect(await readSuppressions(ctx, { email: ada.email })).toMatchObject([{ reason: 'BOUNCED' }])
  expect(isSeen()).toEqual([true, true])
  expect(await read()).toBe(0)
})

test('a message without a valid return path is not parsed', async () => {
  addMessage('Delivered-To: b+forged@bounces.example')
  addMessage(`Subject: ${returnPath}\r\nDelivered-To: postmaster@bounces.example`)
  let parsed = 0
  const counting = { read: (raw: Uint8Array) => readMail(raw).finally(() => (parsed += 1)) }
  const options = { url: imap.url, log: silentLog, parser: counting }
  expect(await readMailbox(base(), options)).toBe(2)
  expect([parsed, isSeen()]).toEqual([0, [true, true]])
  addMessage(`Delivered-To: ${returnPath}`)
  await readMailbox(base(), options)
  expect(parsed).toBe(1)
})

test('a message reports to the first ten return paths in its header', async () => {
  const { keys } = ctx.settings
  const others = Array.from({ length: 10 }, () => {
    const subject = { campaignId: newId('cmp'), contactId: newId('con') }
    return `${toReturnPath(createRecipientToken(keys, { workspaceId: ctx.workspaceId, subject, email: ada.email }))}@b.example`
  })
  const toHeader = (paths: string[]) => paths.map((path) => `Delivered-To: ${path}`).join('\r\n')
  addMessage(toHeader([...others, returnPath]))
  expect([await read(), await listBounces()]).toEqual([1, []])
  addMessage(toHeader([...others.slice(1), returnPath]))
  expect([await read(), await listBounces()]).toEqual([1, ['mail.bounced']])
})

test('reads a complaint of a feedback loop', async () => {
  const raw = composeComplaint(`Original-Mail-From: <${returnPath}>`).replace('b+token', 'fbl')
  imap.messages.push({ raw, seen: false })
  expect(await read()).toBe(1)
  expect(await readSuppressions(ctx, { email: ada.email })).toMatchObject([{ reason: 'COMPLAINED' }])
})

test('a message is marked as seen only after it was recorded, and counts once', async () => {
  addMessage(`Delivered-To: ${returnPath}`)
  const away = openDatabase('postgres://rapport@127.0.0.1:1/none', { applicationName: 'away', onError: () => {} })
  await expect(read(away.db)).rejects.toThrow()
  expect(isSeen()).toEqual([false])
  imap.decide((command) => (command.includes('STORE') ? 'disconnect' : 'respond'))
  await expect(read()).rejects.toThrow()
  expect([isSeen(), await listBounces()]).toEqual([[false], ['mail.bounced']])
  imap.decide(() => 'respond')
  await read()
  expect([isSeen(), await listBounces()]).toEqual([[true], ['mail.bounced']])
})

test('a message that cannot be recorded stays unseen, and holds up no other', async () => {
  addMessage(`Delivered-To: ${returnPath}`, '5.1.2')
  addMessage(`Delivered-To: ${returnPath}`)
  await database.db.execute(
    `alter table campaign_recipients add constraint no_such_code check (bounce_code <> '5.1.2')`,
  )
  expect(await read()).toBe(1)
  expect([isSeen(), await listBounces()]).toEqual([[false, true], ['mail.bounced']])
  await database.db.execute('alter table campaign_recipients drop constraint no_such_code')
  expect(await read()).toBe(1)
  expect(isSeen()).toEqual([true, true])
})

test('the elected worker reads at each interval, and reconnects after an error', async () => {
  addMessage(`Delivered-To: ${returnPath}`)
  let failures = 2
  imap.decide((command) => (command.startsWith('LOGIN') && failures-- > 0 ? 'disconnect' : 'respond'))
  const options = { url: imap.url, parser, intervalMs: 5, log: silentLog }
  const idle = startMailboxReader(base(), { ...options, isElected: async () => false })
  const reader = startMailboxReader(base(), { ...options, isElected: async () => true })
  await expect.poll(listBounces).toEqual(['mail.bounced'])
  await Promise.all([idle.close(), reader.close()])
})

test('no pass begins once the reader is closed', async () => {
  addMessage(`Delivered-To: ${returnPath}`)
  const [isAsked, isElected] = [Promise.withResolvers<void>(), Promise.withResolvers<boolean>()]
  const reader = startMailboxReader(base(), {
    url: imap.url,
    parser,
    intervalMs: 5,
    log: silentLog,
    isElected() {
      isAsked.resolve()
      return isElected.promise
    },
  })
  await isAsked.promise
  const closed = reader.close()
  isElected.resolve(true)
  await closed
  expect([isSeen(), await listBounces()]).toEqual([[false], []])
})
