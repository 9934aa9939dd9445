import { randomUUID } from 'node:crypto'
import { openDatabase } from '@rapport/core/db/client.ts'
import { sendTestMail } from '@rapport/core/campaigns/campaign-mail.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { updateContact } from '@rapport/core/contacts/update-contact.ts'
import { type ContactId, idOf, uuidOf } from '@rapport/core/kernel/ids.ts'
import { confirmSubscription, subscribe } from '@rapport/core/lists/subscribe.ts'
import { addSubscriber } from '@rapport/core/lists/subscribers.ts'
import { enqueueMail } from '@rapport/core/mail/mails.ts'
import { deleteContact } from '@rapport/core/operations/contacts/delete-contact.ts'
import { optOutContact } from '@rapport/core/operations/contacts/opt-out-contact.ts'
import { createSuppression } from '@rapport/core/suppressions/suppressions.ts'
import { createInvite } from '@rapport/core/team/invites.ts'
import {
  createTestCampaign,
  createTestContact,
  createTestList,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { findClaims } from '@rapport/testing/fixtures/claims.ts'
import { useForFile, useForTest, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import { type ReceivedMail, startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, jobOf, unreachableSmtpUrl, type TestDeps } from '../../test/fixtures.ts'
import { recoverUnknownClaims } from '../process/heartbeat.ts'
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
const send = (uuid: string, by: TestDeps = deps) => sendMail(by, jobOf(ctx, 'MAIL', uuid))

async function createConfirmationMail(): Promise<string> {
  await subscribe(ctx, (await createTestList(ctx)).id, { email: 'ada@example.com', firstName: '', lastName: '' })
  return (await listPendingWork(ctx, 'mail')).at(-1) ?? ''
}

async function createTestMail(contactId?: ContactId, confirmed = 0): Promise<string> {
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

describe('a confirmation mail', () => {
  test('is sent once, and its link confirms the subscription', async () => {
    const uuid = await createConfirmationMail()
    await send(uuid)
    await send(uuid)
    const [mail, ...others] = received()
    expect([mail?.to, others]).toEqual([['ada@example.com'], []])
    expect(mail?.headers).toMatchObject({
      'auto-submitted': 'auto-generated',
      from: 'Analytical Engines <newsletter@example.com>',
    })
    const token = /confirm\?token=([\w.-]+)/.exec(mail?.text ?? '')?.[1] ?? ''
    expect(mail?.html).toContain(token)
    await confirmSubscription(ctx, token)
    expect(await readMail(uuid)).toEqual({ status: 'SENT', attempts: 1, error: null })
    expect(await listPendingWork(ctx)).toEqual([])
  })

  test.each([
    { fault: 'is refused temporarily', decision: 450, status: 'FAILED', mails: 0 },
    { fault: 'has an unknown outcome', decision: 'disconnect after data', status: 'INTERRUPTED', mails: 3 },
  ] as const)('that $fault is tried three times at most', async ({ decision, status, mails }) => {
    const uuid = await createConfirmationMail()
    smtp.decide(() => decision)
    await expect(send(uuid)).rejects.toThrow()
    await expect(send(uuid)).rejects.toThrow()
    expect(await listPendingWork(ctx)).toEqual([uuid])
    await send(uuid)
    await send(uuid)
    expect(await readMail(uuid)).toEqual({ status, attempts: 3, error: expect.any(String) })
    expect(await listPendingWork(ctx)).toEqual([])
    expect(received()).toHaveLength(mails)
  })

  test('that arrives twice has the same Message-ID and the same link', async () => {
    const uuid = await createConfirmationMail()
    smtp.decide(() => 'disconnect after data')
    await expect(send(uuid)).rejects.toThrow()
    smtp.decide(() => 'accept')
    await send(uuid)
    const [one, two] = received()
    expect(received()).toHaveLength(2)
    expect(two?.headers['message-id']).toBe(one?.headers['message-id'])
    expect(two?.text).toBe(one?.text)
  })

  test('that is refused permanently is not retried', async () => {
    const uuid = await createConfirmationMail()
    smtp.decide(() => 550)
    await send(uuid)
    await send(uuid)
    expect(await readMail(uuid)).toEqual({ status: 'FAILED', attempts: 1, error: '550 recipient is refused' })
    expect(await listPendingWork(ctx)).toEqual([])
  })

  test('is sent when the mail server is available again', async () => {
    const uuid = await createConfirmationMail()
    const unavailable = await createTestDeps(database.db, { smtpUrl: unreachableSmtpUrl })
    await expect(send(uuid, unavailable)).rejects.toThrow('ECONNREFUSED')
    await unavailable.close()
    await send(uuid)
    expect(received()).toHaveLength(1)
  })

  test.each(['deleted', 'marked as deleted'])('whose list is %s is not sent', async (how) => {
    const uuid = await createConfirmationMail()
    const change = how === 'deleted' ? 'delete from lists' : 'update lists set deleted_at = now()'
    await database.pool.query(`${change} where workspace_id = $1`, [uuidOf(ctx.workspaceId)])
    await send(uuid)
    expect(await readMail(uuid)).toMatchObject({
      status: 'FAILED',
      error: 'Nothing to send: the email is no longer needed',
    })
    expect([received(), await listPendingWork(ctx)]).toEqual([[], []])
  })
})

describe('a test mail', () => {
  test('is marked as a test and rendered for an example contact', async () => {
    const uuid = await createTestMail(undefined, 1)
    await send(uuid)
    expect(received()).toMatchObject([{ to: ['me@example.com'], subject: '[Test] News for Ada' }])
    expect(received()[0]?.headers['list-unsubscribe']).toMatch(/^<https:/)
    expect(await readMail(uuid)).toMatchObject({ status: 'SENT' })
  })

  test('is not sent to an address that opted out of its list meanwhile', async () => {
    const uuid = await createTestMail()
    const { rows } = await database.pool.query<{ id: string }>('select id from lists where workspace_id = $1', [
      uuidOf(ctx.workspaceId),
    ])
    await createSuppression(ctx, {
      email: 'me@example.com',
      reason: 'OPTED_OUT',
      listId: idOf('lst', rows[0]?.id ?? ''),
    })
    await send(uuid)
    expect(received()).toEqual([])
  })

  test('is rendered for the given contact and not sent to that contact', async () => {
    const contact = await createTestContact(ctx, { firstName: 'Charles' })
    await send(await createTestMail(contact.id))
    expect(received()).toMatchObject([{ to: ['me@example.com'], subject: '[Test] News for Charles' }])
  })

  test('is not sent again if its outcome is unknown', async () => {
    const uuid = await createTestMail()
    smtp.decide(() => 'disconnect after data')
    await send(uuid)
    smtp.decide(() => 'accept')
    await send(uuid)
    expect(received()).toHaveLength(1)
    expect(await readMail(uuid)).toMatchObject({ status: 'INTERRUPTED', attempts: 1 })
    expect(await listPendingWork(ctx)).toEqual([])
  })

  test('is not recovered by the heartbeat while its job sends it', async () => {
    const uuid = await createTestMail()
    smtp.decide(() => ({ delayMs: 300 }))
    const sending = send(uuid)
    await waitUntil(async () => (await findClaims(database.db, deps.workerId)).includes(uuid), {
      describe: 'the mail is claimed',
    })
    expect(await recoverUnknownClaims(deps)).toEqual({ deliveries: 0, mails: {}, errors: [] })
    await sending
    expect(await readMail(uuid)).toMatchObject({ status: 'SENT', attempts: 1 })
  })

  test('whose claim had no response is claimed and sent by the next job', async () => {
    const uuid = await createTestMail()
    const proxy = await startTestProxy(database.url)
    const proxied = openDatabase(proxy.url, { applicationName: 'rapport test', onError: () => {} })
    const unreliable = await createTestDeps(proxied.db, { smtpUrl: smtp.url })
    proxy.cut(/^Q?.{0,9}commit/, 'response', 1)
    await expect(send(uuid, unreliable)).rejects.toThrow()
    expect([proxy.cuts, received(), await readMail(uuid)]).toMatchObject([1, [], { status: 'PENDING', attempts: 0 }])
    await send(uuid)
    expect(await readMail(uuid)).toMatchObject({ status: 'SENT', attempts: 1 })
    for (const opened of [unreliable, proxied, proxy]) await opened.close()
  })

  test('is INTERRUPTED, and not sent again, if its outcome cannot be recorded', async () => {
    const uuid = await createTestMail()
    // A permanent error, which the worker does not retry for a day.
    await database.pool.query(`alter table mails add constraint broken check (status <> 'SENT') not valid`)
    await expect(send(uuid)).rejects.toThrow('Failed query')
    await database.pool.query('alter table mails drop constraint broken')
    expect(await readMail(uuid)).toMatchObject({ status: 'INTERRUPTED' })
    await send(uuid)
    expect(received()).toHaveLength(1)
  })

  test('for a contact that was deleted fails after three attempts', async () => {
    const contact = await createTestContact(ctx)
    const uuid = await createTestMail(contact.id)
    await database.pool.query('delete from contacts where id = $1', [uuidOf(contact.id)])
    await send(uuid).catch(() => {})
    await send(uuid).catch(() => {})
    await send(uuid).catch(() => {})
    expect(await readMail(uuid)).toMatchObject({ status: 'FAILED' })
    expect([received(), await listPendingWork(ctx)]).toEqual([[], []])
  })
})

test.each([
  ['OPTED_OUT', 1],
  ['MANUAL', 0],
] as const)('an invite whose address is %s meanwhile is sent %i times', async (reason, times) => {
  await createInvite(ctx, { email: 'ada@example.com', role: 'VIEWER' })
  await createSuppression(ctx, { email: 'ada@example.com', reason })
  await send((await listPendingWork(ctx, 'mail')).at(-1) ?? '')
  expect(received()).toHaveLength(times)
})

test.each([2, 10, 100])('%d concurrent jobs send one mail', async (times) => {
  const uuid = await createConfirmationMail()
  const other = await createTestDeps(database.db, { smtpUrl: smtp.url })
  await Promise.all(Array.from({ length: times }, (_, n) => send(uuid, n % 2 === 0 ? deps : other)))
  expect(received()).toHaveLength(1)
  await other.close()
})

describe('a mail that waits for a connection is asked again: none goes', () => {
  const email = 'ada@example.com'
  test.each<
    [to: string, kind: 'PERSONAL_DATA' | 'CONFIRMATION', happens: (id: ContactId, uuid: string) => Promise<unknown>]
  >([
    ['to an address that was left', 'PERSONAL_DATA', (id) => updateContact(ctx, id, { email: 'new@example.com' })],
    ['to a contact that was erased', 'PERSONAL_DATA', (id) => deleteContact(ctx, id)],
    ['to an address that was blocked', 'PERSONAL_DATA', () => createSuppression(ctx, { email, reason: 'MANUAL' })],
    ['to someone who left meanwhile', 'CONFIRMATION', (id) => optOutContact(ctx, id, {})],
    [
      'by a worker that lost its claim',
      'CONFIRMATION',
      (_, uuid) => database.pool.query('update mails set token = $2 where id = $1', [uuid, randomUUID()]),
    ],
  ])('%s', async (_to, kind, happens) => {
    const { id: contactId } = await createTestContact(ctx, { email })
    const { id: listId } = await createTestList(ctx)
    await addSubscriber(ctx, listId, { contactId, status: 'PENDING' })
    const ofList = kind === 'CONFIRMATION' && { listId }
    await enqueueMail(ctx, { kind, to: email, data: { contactId, ...ofList } })
    const uuid = (await listPendingWork(ctx, 'mail')).at(-1) ?? ''
    const late: TestDeps['mail']['send'] = async (mail, source, check) => {
      await happens(contactId, uuid)
      return (await check?.ask()) ?? deps.mail.send(mail, source)
    }
    await send(uuid, { ...deps, mail: { ...deps.mail, send: late } })
    expect(received()).toEqual([])
  })
})
