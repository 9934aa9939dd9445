import { setImmediate as nextTurn } from 'node:timers/promises'
import { readCampaign } from '@rapport/core/campaigns/campaigns.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { type Database, openDatabase } from '@rapport/core/db/client.ts'
import { type CampaignId, uuidOf } from '@rapport/core/kernel/ids.ts'
import {
  countRecipients,
  createTestCampaign,
  createTestCtx,
  listEventTypes,
  expireWorkerHeartbeat,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTestDeps, jobOf, unreachableSmtpUrl, type TestDeps } from '../../test/fixtures.ts'
import { recoverUnknownClaims } from '../process/heartbeat.ts'
import { sendCampaignBatch } from './send-campaign-batch.ts'
import { recoverOrphanedClaims } from '@rapport/core/operations/recovery/recover-claims.ts'

const database = useTestDatabase()
const smtp = useForFile(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))
let ctx: Ctx
/** The number of mails received before the test. */
let before: number
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  smtp.decide(() => 'accept')
  before = smtp.mails.length
})

async function startCampaign(confirmed: number) {
  const { id } = await createTestCampaign(ctx, { confirmed })
  await sendCampaign(ctx, id)
  const [uuid = ''] = await listPendingWork(ctx, 'campaigns')
  return { id, uuid }
}

const send = (uuid: string, by: TestDeps = deps) => sendCampaignBatch(by, jobOf(ctx, 'CAMPAIGN_BATCH', uuid))
const sendExpectingRetry = (uuid: string) => expect(send(uuid)).rejects.toThrow('retrying')
const inOrder = (addresses: string[]) => addresses.toSorted()
const addressees = () => inOrder(smtp.mails.slice(before).flatMap(({ to }) => to))
const waitForMails = (count: number) => smtp.waitFor(before + count)
const createAddresses = (count: number) =>
  inOrder(Array.from({ length: count }, (_, n) => `person-${n + 1}@example.com`))

async function readErrors(): Promise<string[]> {
  const found = await database.pool.query<{ error: string }>(
    'select distinct error from campaign_recipients where workspace_id = $1 and error is not null',
    [uuidOf(ctx.workspaceId)],
  )
  return found.rows.map(({ error }) => error)
}

/** Checks repeatedly, until `sending` ends, that there are never more outcomes than queued recipients. */
async function watchCounts(id: CampaignId, sending: Promise<unknown>): Promise<number> {
  const ended = sending.then(() => true)
  for (let checks = 1; ; checks++) {
    const counts = await countRecipients(ctx, id)
    const { queued } = await readCampaign(ctx, id)
    expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(queued)
    if (await Promise.race([ended, nextTurn(false)])) return checks
  }
}

test('a batch sends one mail per recipient, and the last one completes the campaign', async () => {
  const { id, uuid } = await startCampaign(45)
  smtp.decide(() => ({ delayMs: 5 }))
  const sending = send(uuid)
  expect(await watchCounts(id, sending)).toBeGreaterThan(1)
  expect(addressees()).toEqual(createAddresses(45))
  expect(await countRecipients(ctx, id)).toEqual({ SENT: 45 })
  expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT', queued: 45 })
  expect(await listEventTypes(ctx)).toEqual(['campaign.sending', 'campaign.sent'])
  expect(await listPendingWork(ctx)).toEqual([])
})

describe('each recipient gets one mail', () => {
  test('when the job runs repeatedly and concurrently, in one process and in several', async () => {
    const { id, uuid } = await startCampaign(30)
    const others = await Promise.all([1, 2].map(() => createTestDeps(database.db, { smtpUrl: smtp.url })))
    await Promise.all([deps, ...others].flatMap((by) => Array.from({ length: 5 }, () => send(uuid, by))))
    await send(uuid)
    expect(addressees()).toEqual(createAddresses(30))
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 30 })
    for (const other of others) await other.close()
  })

  // In the first group of a claim, and in a later one.
  test.each([1, 25, 15, 40].slice(0, countRuns({ gate: 2, full: 4 })))(
    'when a frozen worker resumes after its claim was recovered (%d mails sent)',
    async (mails) => {
      const { id, uuid } = await startCampaign(50)
      smtp.decide(() => ({ delayMs: 20 }))
      const frozen = send(uuid)
      await waitForMails(mails)
      await expireWorkerHeartbeat(database.db, deps.workerId)
      await recoverOrphanedClaims(database.db)
      const other = await createTestDeps(database.db, { smtpUrl: smtp.url })
      // The run that ends first rejects, because the other one still has recipients in SENDING.
      await Promise.allSettled([frozen, send(uuid, other)])
      await send(uuid, other)
      expect(addressees()).toEqual(createAddresses(50))
      expect(await countRecipients(ctx, id)).toEqual({ SENT: 50 })
      expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT' })
      expect(await listEventTypes(ctx)).toEqual(['campaign.sending', 'campaign.sent'])
      await other.close()
    },
  )
})

describe('the mail server', () => {
  test('that refuses a recipient temporarily is tried three times, and then it is FAILED', async () => {
    const { id, uuid } = await startCampaign(3)
    smtp.decide((to) => (to.startsWith('person-2') ? 450 : 'accept'))
    for (const attempt of [1, 2]) {
      await sendExpectingRetry(uuid)
      expect(await countRecipients(ctx, id)).toEqual({ SENT: 2, WAITING: 1 })
      expect(await listPendingWork(ctx)).toEqual([uuid])
      expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENDING' })
      expect(attempt).toBeLessThan(3)
    }
    await send(uuid)
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 2, FAILED: 1 })
    expect(await readErrors()).toEqual(['450 recipient is refused'])
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT' })
    expect(addressees()).toEqual(['person-1@example.com', 'person-3@example.com'])
  })

  test('that refuses temporarily and then accepts receives one mail per recipient', async () => {
    const { id, uuid } = await startCampaign(3)
    smtp.decide(() => 450)
    await sendExpectingRetry(uuid)
    smtp.decide(() => 'accept')
    await send(uuid)
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 3 })
    expect(addressees()).toEqual(createAddresses(3))
  })

  test('that refuses a recipient permanently is tried once, and the recipient is FAILED', async () => {
    const { id, uuid } = await startCampaign(2)
    smtp.decide((to) => (to.startsWith('person-1') ? 550 : 'accept'))
    await send(uuid)
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 1, FAILED: 1 })
    expect(await readErrors()).toEqual(['550 recipient is refused'])
  })

  test('that disconnects after the data leaves recipients INTERRUPTED, without a retry', async () => {
    const { id, uuid } = await startCampaign(25)
    smtp.decide((to) => (/person-[12]@/.test(to) ? 'disconnect after data' : 'accept'))
    await send(uuid)
    await send(uuid)
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 23, INTERRUPTED: 2 })
    expect(addressees()).toEqual(createAddresses(25))
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT' })
  })

  test('that is unavailable leaves recipients WAITING', async () => {
    const { id, uuid } = await startCampaign(30)
    const unavailable = await createTestDeps(database.db, { smtpUrl: unreachableSmtpUrl })
    await expect(send(uuid, unavailable)).rejects.toThrow('retrying')
    expect(await countRecipients(ctx, id)).toEqual({ WAITING: 20 })
    await unavailable.close()
    await send(uuid)
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 30 })
    expect(addressees()).toEqual(createAddresses(30))
  })
})

describe('a shutdown during a batch', () => {
  test('finishes the current group and requeues the rest; no recipient is INTERRUPTED', async () => {
    const { id, uuid } = await startCampaign(60)
    smtp.decide(() => ({ delayMs: 30 }))
    const sending = send(uuid)
    await waitForMails(1)
    deps.stop()
    await sending
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 20 })
    expect(await listPendingWork(ctx)).toEqual([uuid])
    const next = await createTestDeps(database.db, { smtpUrl: smtp.url })
    await send(uuid, next)
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 60 })
    expect(addressees()).toEqual(createAddresses(60))
    await next.close()
  })

  test('does not wait for the mail rate limiter', async () => {
    const { id, uuid } = await startCampaign(3)
    const slow = await createTestDeps(database.db, { smtpUrl: smtp.url, mailRate: 0.01 })
    const sending = send(uuid, slow)
    await waitForMails(1)
    slow.stop()
    await sending
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 1 })
    await slow.close()
  })
})

test('a contact that unsubscribes before its group is sent gets no mail', async () => {
  const { id, uuid } = await startCampaign(60)
  // The first group takes longer than the change of the subscriptions, on a busy machine too.
  smtp.decide(() => ({ delayMs: 200 }))
  const sending = send(uuid)
  await waitForMails(1)
  const claimed = new Set((await readContacts(id)).map(({ contact_id }) => contact_id))
  const unsubscribed = await database.pool.query<{ email: string }>(
    `with left_list as (
      update subscriptions set status = 'UNSUBSCRIBED' where workspace_id = $1 and not contact_id = any($2) returning contact_id)
     select email from contacts join left_list on id = contact_id where workspace_id = $1`,
    [uuidOf(ctx.workspaceId), [...claimed]],
  )
  await sending
  expect(unsubscribed.rowCount).toBe(40)
  expect(await countRecipients(ctx, id)).toEqual({ SENT: 20, SKIPPED: 40 })
  expect(addressees().filter((address) => unsubscribed.rows.some(({ email }) => email === address))).toEqual([])
})

async function readContacts(id: CampaignId) {
  const found = await database.pool.query<{ contact_id: string }>(
    'select contact_id from campaign_recipients where campaign_id = $1',
    [uuidOf(id)],
  )
  return found.rows
}

test('a template that exceeds its limits fails the recipients and ends the campaign', async () => {
  const { id } = await createTestCampaign(ctx, { confirmed: 2, html: '{% for i in (1..100000000) %}x{% endfor %}' })
  await sendCampaign(ctx, id)
  const [uuid = ''] = await listPendingWork(ctx, 'campaigns')
  await send(uuid)
  expect(await countRecipients(ctx, id)).toEqual({ FAILED: 2 })
  expect(await readErrors()).toEqual([
    expect.stringMatching(/^The mail could not be rendered: memory alloc limit exceeded/),
  ])
  expect(addressees()).toEqual([])
})

describe('on an unreliable database connection', () => {
  let proxied: Database
  let unreliable: TestDeps
  let proxy: Awaited<ReturnType<typeof startTestProxy>>
  beforeEach(async () => {
    proxy = await startTestProxy(database.url)
    proxied = openDatabase(proxy.url, { applicationName: 'rapport test', onError: () => {} })
    unreliable = await createTestDeps(proxied.db, { smtpUrl: smtp.url })
  })
  afterEach(async () => {
    await unreliable.close()
    await proxied.close()
    await proxy.close()
  })

  test.each([
    ['the claim of the batch', /update "work" set "token"/],
    ['the claim of a group', /claim recipients/],
    ['the outcome of a group', /record recipient outcomes/],
    ['the end of the batch', /update "campaign_batches" set "status"/],
    ['the deletion of its work', /delete from "work"/],
    ['the completion', /update "campaigns" set "status" = case/],
    ['the event', /emit events/],
    ['the commit', /^Q?.{0,9}commit/],
  ])('each recipient gets one mail if the connection is lost at %s', async (_name, pattern) => {
    for (const moment of ['before', 'response'] as const) {
      ctx = await createTestCtx(database.db)
      const { id, uuid } = await startCampaign(25)
      before = smtp.mails.length
      proxy.cut(pattern, moment, 1)
      await send(uuid, unreliable).catch(() => {})
      expect(proxy.cuts).toBe(moment === 'before' ? 1 : 2)
      await recoverUnknownClaims(unreliable)
      await send(uuid, unreliable)
      expect(await countRecipients(ctx, id)).toEqual({ SENT: 25 })
      expect(addressees()).toEqual(createAddresses(25))
      expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT' })
      expect(await listEventTypes(ctx)).toEqual(['campaign.sending', 'campaign.sent'])
      expect(await listPendingWork(ctx)).toEqual([])
    }
  })

  test('no recipient gets two mails after unrecorded outcomes and a lost claim response', async () => {
    const { id, uuid } = await startCampaign(25)
    // The constraint rejects the outcomes of a group whose 20 mails were sent.
    const alter = 'alter table campaign_recipients'
    await database.pool.query(`${alter} add constraint refuse_sent check (status <> 'SENT') not valid`)
    await expect(send(uuid, unreliable)).rejects.toThrow('Failed query')
    await database.pool.query(`${alter} drop constraint refuse_sent`)
    proxy.cut(/claim recipients/, 'response', 1)
    await expect(send(uuid, unreliable)).rejects.toThrow()
    expect(proxy.cuts).toBe(1)
    await send(uuid, unreliable)
    expect(addressees()).toEqual(createAddresses(25))
    expect(await countRecipients(ctx, id)).toEqual({ SENT: 5, INTERRUPTED: 20 })
    expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT' })
  })
})
