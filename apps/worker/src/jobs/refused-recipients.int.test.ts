import { readStats } from '@rapport/core/campaigns/campaign-stats.ts'
import { readCampaign } from '@rapport/core/campaigns/campaigns.ts'
import { RecipientQuery } from '@rapport/core/campaigns/campaigns.schema.ts'
import { pauseCampaign, resumeCampaign, retryCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import { listRecipients } from '@rapport/core/campaigns/list-recipients.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { type CampaignId, newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { enqueueMail } from '@rapport/core/mail/mails.ts'
import { listWorkspaceFigures } from '@rapport/core/operations/overviews/workspace-figures.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { readSuppressions } from '@rapport/core/consent/consent-records.ts'
import { byStrictness } from '@rapport/core/consent/suppression-rows.ts'
import { liftSuppression } from '@rapport/core/suppressions/lift-suppression.ts'
import { SuppressionQuery } from '@rapport/core/suppressions/suppressions.schema.ts'
import { listSuppressions } from '@rapport/core/suppressions/suppressions.ts'
import {
  createTestCampaign,
  createTestCtx,
  createTestList,
  listEventTypes,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useForFile, useForTest, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type SmtpDecision, startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { beforeEach, expect, test } from 'vitest'
import { createTestDeps, jobOf } from '../../test/fixtures.ts'
import { sendCampaignBatch } from './send-campaign-batch.ts'
import { sendMail } from './send-mail.ts'

const database = useTestDatabase()
const smtp = useForFile(() => startSmtpReceiver())
const deps = useForTest(() => createTestDeps(database.db, { smtpUrl: smtp.url }))
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

async function startCampaign(confirmed: number) {
  const { id } = await createTestCampaign(ctx, { confirmed })
  await sendCampaign(ctx, id)
  return { id, batches: await listPendingWork(ctx, 'campaigns') }
}

const send = (uuid = '') => sendCampaignBatch(deps, jobOf(ctx, 'CAMPAIGN_BATCH', uuid))
const refuse = (refusals: Record<string, SmtpDecision>) => smtp.decide((address) => refusals[address] ?? 'accept')
const listFailed = (id: CampaignId) => listRecipients(ctx, id, RecipientQuery.parse({ status: 'FAILED' }))

async function readSuppressed(...emails: string[]) {
  const reasons = await Promise.all(emails.map((email) => readSuppressions(ctx, { email })))
  return reasons.map((rows) => byStrictness(rows)[0]?.reason)
}

test('a recipient whose address does not exist is FAILED and suppressed, with an event', async () => {
  refuse({
    'person-1@example.com': { refusal: '550 5.1.1 No such user' },
    'person-2@example.com': { refusal: '550 5.7.1 Blocked' },
    'person-3@example.com': { refusal: '552 5.2.2 Mailbox full' },
  })
  const { id, batches } = await startCampaign(6)
  await send(batches[0])
  const { data } = await listFailed(id)
  expect(data.map(({ email, bounceClass, bounceCode }) => `${email} ${bounceClass} ${bounceCode}`).toSorted()).toEqual([
    'person-1@example.com HARD 5.1.1',
    'person-2@example.com POLICY 5.7.1',
    'person-3@example.com SOFT 5.2.2',
  ])
  const suppressed = await readSuppressed('person-1@example.com', 'person-2@example.com', 'person-3@example.com')
  expect(suppressed).toEqual(['BOUNCED', undefined, undefined])
  expect((await listEventTypes(ctx)).filter((type) => type === 'mail.bounced')).toHaveLength(3)
  const bouncesByClass = { HARD: 1, SOFT: 1, MESSAGE: 0, POLICY: 1 }
  expect(await readStats(ctx, id)).toMatchObject({ sent: 3, failed: 3, bounced: 1, bouncesByClass })
})

test('a refused address counts in the rates, also when it is refused again', async () => {
  const email = 'person-1@example.com'
  const { id, batches } = await startCampaign(4)
  const expectBounced = async (bounced: number, mails: number) => {
    expect(await readStats(ctx, id)).toMatchObject({ bounced, bouncesByClass: { HARD: bounced } })
    const figures = await listWorkspaceFigures(database.db)
    const hardBounceRate = bounced / mails
    expect(figures.find((one) => one.id === ctx.workspaceId)).toMatchObject({ mails, hardBounceRate })
  }
  for (const attempt of [1, 2]) {
    refuse({ [email]: { refusal: '550 5.1.1 No such user' } })
    await send(batches[0])
    await expectBounced(1, 4)
    const { data } = await listSuppressions(ctx, SuppressionQuery.parse({ email }))
    await liftSuppression(ctx, data[0]?.id ?? newId('sup'), { note: `The mailbox is back, ${attempt}` })
    expect(await retryCampaign(ctx, id, { includeInterrupted: true })).toEqual({ queued: 1 })
    await expectBounced(0, 3)
  }
})

test('a temporary refusal is a SOFT bounce only after the last attempt', async () => {
  refuse({ 'person-1@example.com': { refusal: '451 4.7.1 Try again later' } })
  const { id, batches } = await startCampaign(2)
  for (const attempt of [1, 2]) await expect(send(batches[0]), `${attempt}`).rejects.toThrow('retrying')
  expect(await listEventTypes(ctx)).not.toContain('mail.bounced')
  await send(batches[0])
  expect((await listFailed(id)).data).toMatchObject([{ bounceClass: 'SOFT', bounceCode: '4.7.1' }])
  expect((await listEventTypes(ctx)).filter((type) => type === 'mail.bounced')).toHaveLength(1)
})

test('an address that stays undeliverable for a week is suppressed as BOUNCED', async () => {
  refuse({ 'person-1@example.com': { refusal: '552 5.2.2 Mailbox full' } })
  const list = await createTestList(ctx, { confirmed: 1 })
  for (const expected of [undefined, undefined, 'BOUNCED']) {
    const { id } = await createTestCampaign(ctx, { listId: list.id })
    await sendCampaign(ctx, id)
    const [uuid] = await listPendingWork(ctx, 'campaigns')
    await send(uuid)
    expect(await readSuppressed('person-1@example.com')).toEqual([expected])
    // Citus rejects an expression that depends on the time zone of the connection.
    const earlier = (column: string) =>
      `${column} = (${column} at time zone 'UTC' - interval '4 days') at time zone 'UTC'`
    await database.pool.query(`update campaign_recipients set ${earlier('created_at')}`)
    await database.pool.query(`update soft_bounces set ${earlier('mailed_at')}`)
  }
})

test('a single mail to an address that does not exist suppresses it', async () => {
  const email = 'new@example.com'
  refuse({ [email]: { refusal: '550 5.1.1 No such user' } })
  const { id } = await startCampaign(1)
  await enqueueMail(ctx, { kind: 'CAMPAIGN_TEST', to: email, data: { campaignId: id, contactId: null } })
  const [uuid = ''] = await listPendingWork(ctx, 'mail')
  await sendMail(deps, jobOf(ctx, 'MAIL', uuid))
  expect(await readSuppressed(email)).toEqual(['BOUNCED'])
  expect(await listEventTypes(ctx)).toContain('mail.bounced')
})

test('a group that is refused as the fault of the sender pauses the campaign', async () => {
  smtp.decide(() => ({ refusal: '550 5.7.26 Unauthenticated email' }))
  const { id, batches } = await startCampaign(5)
  await send(batches[0])
  expect(await readCampaign(ctx, id)).toMatchObject({
    status: 'PAUSED',
    pauseReason: expect.stringContaining('5.7.26 Unauthenticated email'),
  })
  expect(await readStats(ctx, id)).toMatchObject({ pending: 5, failed: 0 })
  expect(await listEventTypes(ctx)).not.toContain('mail.bounced')
})

/** As if servers of three domains had refused 100 mails later. */
async function reportBounces(id: CampaignId) {
  await database.pool.query(
    `update contacts set email = replace(email, '@', '@' || (length(email) % 3) || '.') where workspace_id = $1`,
    [uuidOf(ctx.workspaceId)],
  )
  await database.pool.query(
    `update campaign_recipients set bounce_class = 'POLICY' where campaign_id = $1
      and contact_id in (select contact_id from campaign_recipients where campaign_id = $1 limit 100)`,
    [uuidOf(id)],
  )
}

const pausedForBounces = {
  status: 'PAUSED',
  pauseReason: expect.stringMatching(/^Servers of \d domains refused 100 of the last 200 emails/),
}

test('reported bounces pause the campaign before its next batch, until it is resumed', async () => {
  smtp.decide(() => 'accept')
  const { id, batches } = await startCampaign(230)
  await send(batches[0])
  await reportBounces(id)
  await send(batches[1])
  expect(await readCampaign(ctx, id)).toMatchObject(pausedForBounces)
  await resumeCampaign(ctx, id)
  await send(batches[1])
  expect(await readCampaign(ctx, id)).toMatchObject({ status: 'SENT', pauseReason: null })
  expect(await readStats(ctx, id)).toMatchObject({ sent: 230 })
})

test('reported bounces pause a campaign that a user had paused and resumed', async () => {
  smtp.decide(() => 'accept')
  const { id, batches } = await startCampaign(230)
  await send(batches[0])
  await pauseCampaign(ctx, id)
  await reportBounces(id)
  await resumeCampaign(ctx, id)
  await send(batches[1])
  expect(await readCampaign(ctx, id)).toMatchObject(pausedForBounces)
})
