import { sendTestMail } from '@rapport/core/campaigns/campaign-mail.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { type ContactId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { confirmSubscription, subscribe } from '@rapport/core/lists/subscribe.ts'
import {
  createTestCampaign,
  createTestContact,
  createTestList,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type ReceivedMail, startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, jobOf, unreachableSmtpUrl, type TestDeps } from '../testing.ts'
import { sendMail } from './send-mail.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const smtp = useForFile(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))
let before: number
beforeEach(async () => {
  smtp.decide(() => 'accept')
  before = smtp.mails.length
})

const received = (): readonly ReceivedMail[] => smtp.mails.slice(before)
const send = (uuid: string, by: TestDeps = deps) => sendMail(by, jobOf(ctx, uuid))

async function askForConfirmation(): Promise<string> {
  await subscribe(ctx, (await createTestList(ctx)).id, { email: 'ada@example.com', firstName: '', lastName: '' })
  return (await listPendingWork(ctx, 'mail')).at(-1) ?? ''
}

async function askForCopy(contactId?: ContactId, confirmed = 0): Promise<string> {
  const campaign = await createTestCampaign(ctx, { confirmed })
  if (confirmed > 0) await sendCampaign(ctx, campaign.id)
  await sendTestMail(ctx, campaign.id, { email: 'me@example.com', ...(contactId && { contactId }) })
  return (await listPendingWork(ctx, 'mail')).at(-1) ?? ''
}

async function readMail(uuid: string) {
  const found = await database.pool.query<{ status: string; attempts: number; error: string | null }>(
    'select status, attempts, error from mails where id = $1',
    [uuid],
  )
  return found.rows[0]
}

describe('a confirmation', () => {
  test('is one mail whose link confirms', async () => {
    const uuid = await askForConfirmation()
    await send(uuid)
    await send(uuid)
    const [mail, ...others] = received()
    expect([mail?.to, others]).toEqual([['ada@example.com'], []])
    expect(mail?.headers).toMatchObject({
      'auto-submitted': 'auto-generated',
      from: 'Analytical Engines <letters@example.com>',
    })
    const token = /confirm\?token=([\w.-]+)/.exec(mail?.text ?? '')?.[1] ?? ''
    expect(mail?.html).toContain(token)
    await confirmSubscription(ctx, token)
    expect(await readMail(uuid)).toEqual({ status: 'SENT', attempts: 1, error: null })
    expect(await listPendingWork(ctx)).toEqual([])
  })

  test.each([
    { what: 'refused for now', decision: 450, end: 'FAILED', mails: 0 },
    { what: 'cut off after it was handed over', decision: 'disconnect after data', end: 'INTERRUPTED', mails: 3 },
  ] as const)('that is $what is tried three times at most', async ({ decision, end, mails }) => {
    const uuid = await askForConfirmation()
    smtp.decide(() => decision)
    await expect(send(uuid)).rejects.toThrow()
    await expect(send(uuid)).rejects.toThrow()
    expect(await listPendingWork(ctx)).toEqual([uuid])
    await send(uuid)
    await send(uuid)
    expect(await readMail(uuid)).toEqual({ status: end, attempts: 3, error: expect.any(String) })
    expect(await listPendingWork(ctx)).toEqual([])
    expect(received()).toHaveLength(mails)
  })

  test('that arrives twice is the same mail with the same link', async () => {
    const uuid = await askForConfirmation()
    smtp.decide(() => 'disconnect after data')
    await expect(send(uuid)).rejects.toThrow()
    smtp.decide(() => 'accept')
    await send(uuid)
    const [one, two] = received()
    expect(received()).toHaveLength(2)
    expect(two?.headers['message-id']).toBe(one?.headers['message-id'])
    expect(two?.text).toBe(one?.text)
  })

  test('that is refused for good is not tried again', async () => {
    const uuid = await askForConfirmation()
    smtp.decide(() => 550)
    await send(uuid)
    await send(uuid)
    expect(await readMail(uuid)).toEqual({ status: 'FAILED', attempts: 1, error: '550 ada@example.com is refused' })
    expect(await listPendingWork(ctx)).toEqual([])
  })

  test('goes out when the mail server is back', async () => {
    const uuid = await askForConfirmation()
    const away = await createTestDeps(database.db, { smtpUrl: unreachableSmtpUrl })
    await expect(send(uuid, away)).rejects.toThrow('ECONNREFUSED')
    await away.close()
    await send(uuid)
    expect(received()).toHaveLength(1)
  })

  test('whose list is gone has nothing to say', async () => {
    const uuid = await askForConfirmation()
    await database.pool.query('delete from lists where workspace_id = $1', [uuidOf(ctx.workspaceId)])
    await send(uuid)
    expect(await readMail(uuid)).toMatchObject({ status: 'FAILED', error: 'Its reason is gone: nothing to send' })
    expect([received(), await listPendingWork(ctx)]).toEqual([[], []])
  })
})

describe('a test copy', () => {
  test('is marked as one, is as an invented person would get it, and has a link that unsubscribes nobody', async () => {
    const uuid = await askForCopy(undefined, 1)
    await send(uuid)
    expect(received()).toMatchObject([{ to: ['me@example.com'], subject: '[Test] News for Ada' }])
    expect(received()[0]?.headers['list-unsubscribe']).toMatch(/^<https:/)
    expect(await readMail(uuid)).toMatchObject({ status: 'SENT' })
  })

  test('is as the named contact would get it, and does not go to them', async () => {
    const contact = await createTestContact(ctx, { firstName: 'Charles' })
    await send(await askForCopy(contact.id))
    expect(received()).toMatchObject([{ to: ['me@example.com'], subject: '[Test] News for Charles' }])
  })

  test('goes out at most once: when its fate is unknown, nobody sends it again', async () => {
    const uuid = await askForCopy()
    smtp.decide(() => 'disconnect after data')
    await send(uuid)
    smtp.decide(() => 'accept')
    await send(uuid)
    expect(received()).toHaveLength(1)
    expect(await readMail(uuid)).toMatchObject({ status: 'INTERRUPTED', attempts: 1 })
    expect(await listPendingWork(ctx)).toEqual([])
  })

  test('of a contact who is gone by then fails after three tries, without a mail', async () => {
    const contact = await createTestContact(ctx)
    const uuid = await askForCopy(contact.id)
    await database.pool.query('delete from contacts where id = $1', [uuidOf(contact.id)])
    await send(uuid).catch(() => {})
    await send(uuid).catch(() => {})
    await send(uuid).catch(() => {})
    expect(await readMail(uuid)).toMatchObject({ status: 'FAILED' })
    expect([received(), await listPendingWork(ctx)]).toEqual([[], []])
  })
})

test.each([2, 10, 100])('a job that runs %d times at once is one mail', async (times) => {
  const uuid = await askForConfirmation()
  const other = await createTestDeps(database.db, { smtpUrl: smtp.url })
  await Promise.all(Array.from({ length: times }, (_, n) => send(uuid, n % 2 === 0 ? deps : other)))
  expect(received()).toHaveLength(1)
  await other.close()
})
