import { eq } from 'drizzle-orm'
import {
  addSubscribers,
  createTestCampaign,
  createTestCtx,
  listEventTypes,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { expect, test } from 'vitest'
import { campaigns, workspaces } from '../../db/schema/index.ts'
import { deriveKeys } from '../../kernel/crypto.ts'
import type { CampaignId } from '../../kernel/ids.ts'
import { createList } from '../../lists/lists.ts'
import type { Ctx } from '../../request/context.ts'
import type { CampaignChange } from '../campaigns.schema.ts'
import { readCampaign, updateCampaign } from '../campaigns.ts'
import { reportSending, sendReviewedCampaign } from './report-sending.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

async function reportTestCampaign(confirmed = 3) {
  const campaign = await createTestCampaign(ctx, { confirmed })
  const report = await reportSending(ctx, campaign.id)
  return { campaign, report, token: report.confirmationToken ?? '' }
}

const send = (id: CampaignId, confirmationToken: string, more: { now?: number; by?: Ctx } = {}) =>
  sendReviewedCampaign(more.by ?? ctx, id, { confirmationToken, ...(more.now && { now: more.now }) })

async function expectUnsent(id: CampaignId) {
  expect(await readCampaign(ctx, id)).toMatchObject({ status: 'DRAFT', queued: 0, sentAt: null })
  expect(await listPendingWork(ctx)).toEqual([])
  expect(await listEventTypes(ctx)).toEqual([])
}

test('a report describes the sending, changes nothing, and its token sends', async () => {
  const { campaign, report, token } = await reportTestCampaign()
  await addSubscribers(ctx, campaign.listId ?? report.list.id, { count: 2, status: 'PENDING', name: 'pending' })
  const again = await reportSending(ctx, campaign.id, 1_000)
  expect(again).toMatchObject({
    campaignId: campaign.id,
    subject: campaign.subject,
    list: { id: campaign.listId, name: 'Product news' },
    from: { name: expect.any(String), address: ctx.settings.mailFrom },
    replyTo: null,
    willReceive: 3,
    excluded: { pending: 2, unsubscribed: 0, bounced: 0, complained: 0 },
    expiresAt: new Date(601_000).toISOString(),
  })
  await expectUnsent(campaign.id)
  expect(await send(campaign.id, token)).toEqual({ queued: 3, unseen: 0 })
  expect(await readCampaign(ctx, campaign.id)).toMatchObject({ status: 'SENDING', queued: 3 })
})

test('a report without recipients has no token', async () => {
  expect((await reportTestCampaign(0)).report).toMatchObject({ willReceive: 0, confirmationToken: null })
})

test.each<[string, CampaignChange]>([
  ['subject', { subject: 'Other news' }],
  ['html', { html: '<p>Other</p>' }],
  ['text', { text: 'Other' }],
  ['fromName', { fromName: 'Other' }],
  ['fromEmail', { fromEmail: 'other@example.com' }],
  ['replyTo', { replyTo: 'other@example.com' }],
  ['trackOpens', { trackOpens: true }],
  ['trackClicks', { trackClicks: true }],
  ['webVersion', { webVersion: false }],
])('a change of %s after the report prevents the sending', async (_field, change) => {
  const { campaign, token } = await reportTestCampaign()
  await updateCampaign(ctx, campaign.id, change)
  await expect(send(campaign.id, token)).rejects.toMatchObject({
    code: 'precondition_failed',
    message: 'The content, list, segment or sender of the campaign has changed since the report',
  })
  await expectUnsent(campaign.id)
})

test('a change of the list or of the sender of the workspace prevents the sending', async () => {
  const { campaign, token } = await reportTestCampaign()
  const other = await createList(ctx, { name: 'Other', description: '', doubleOptIn: true, publicSignup: 'OPEN' })
  await addSubscribers(ctx, other.id, { count: 3, name: 'other' })
  await updateCampaign(ctx, campaign.id, { listId: other.id })
  await expect(send(campaign.id, token)).rejects.toMatchObject({ code: 'precondition_failed' })
  const next = await reportSending(ctx, campaign.id)
  await ctx.db.update(workspaces).set({ fromName: 'Other' }).where(eq(workspaces.id, ctx.workspaceId))
  await expect(send(campaign.id, next.confirmationToken ?? '')).rejects.toMatchObject({ code: 'precondition_failed' })
  await expectUnsent(campaign.id)
})

test('a new name of the campaign, which no recipient sees, does not prevent it', async () => {
  const { campaign, token } = await reportTestCampaign()
  await updateCampaign(ctx, campaign.id, { name: 'Other' })
  expect(await send(campaign.id, token)).toEqual({ queued: 3, unseen: 0 })
})

test('a subscriber who joined or left after the report prevents the sending', async () => {
  const { campaign, report, token } = await reportTestCampaign()
  await addSubscribers(ctx, report.list.id, { count: 1, name: 'late' })
  await expect(send(campaign.id, token)).rejects.toMatchObject({
    code: 'precondition_failed',
    message: 'The number of recipients has changed since the report, from 3 to 4',
  })
  await expectUnsent(campaign.id)
})

test('a change that commits while the sending waits for its lock prevents it', async () => {
  const { campaign, token } = await reportTestCampaign()
  const changing = await openTransaction(ctx.db, (db) =>
    db.update(campaigns).set({ replyTo: 'late@example.com' }).where(eq(campaigns.id, campaign.id)),
  )
  const sending = send(campaign.id, token)
  sending.catch(() => {})
  await waitUntilBlocked(database.db)
  await changing.commit()
  await expect(sending).rejects.toMatchObject({ code: 'precondition_failed' })
  await expectUnsent(campaign.id)
})

test('ten sendings at once with one token send once', async () => {
  const { campaign, token } = await reportTestCampaign()
  const results = await Promise.allSettled(Array.from({ length: 10 }, () => send(campaign.id, token)))
  expect(results.filter(({ status }) => status === 'fulfilled')).toEqual([
    { status: 'fulfilled', value: { queued: 3, unseen: 0 } },
  ])
  const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []))
  expect(reasons).toMatchObject(Array.from({ length: 9 }, () => ({ code: 'wrong_state' })))
  expect(await listPendingWork(ctx)).toHaveLength(1)
  expect(await listEventTypes(ctx)).toEqual(['campaign.sending'])
})

test('a token expires after ten minutes', async () => {
  const { campaign, report, token } = await reportTestCampaign()
  const expiry = Date.parse(report.expiresAt)
  await expect(send(campaign.id, token, { now: expiry })).rejects.toMatchObject({
    code: 'precondition_failed',
    message: 'The token has expired',
  })
  expect(await send(campaign.id, token, { now: expiry - 1 })).toEqual({ queued: 3, unseen: 0 })
})

test('a token of another campaign, of another workspace, or changed is invalid', async () => {
  const { campaign, token } = await reportTestCampaign()
  const other = await createTestCampaign(ctx, {
    listId: (await createList(ctx, { name: 'b', description: '', doubleOptIn: true, publicSignup: 'OPEN' })).id,
  })
  const elsewhere = await createTestCtx(database.db)
  const [body = '', mac = ''] = token.split('.')
  const forged = Buffer.from(body, 'base64url').toString().replace(',3,', ',4,')
  const tokens = ['', '.', 'a.b', `${token}.`, token.slice(1), `${Buffer.from(forged).toString('base64url')}.${mac}`]
  for (const invalid of tokens)
    await expect(send(campaign.id, invalid)).rejects.toMatchObject({ issues: [{ path: 'confirmationToken' }] })
  await expect(send(other.id, token)).rejects.toMatchObject({ issues: [{ path: 'confirmationToken' }] })
  await expect(send(campaign.id, token, { by: elsewhere })).rejects.toMatchObject({
    issues: [{ path: 'confirmationToken' }],
  })
  await expectUnsent(campaign.id)
})

test('a token that a former SECRET_KEY signed stays valid', async () => {
  const { campaign, token } = await reportTestCampaign()
  const withKeys = (...keys: [string, string[]]) => ({
    ...ctx,
    settings: { ...ctx.settings, keys: deriveKeys(...keys) },
  })
  const former = withKeys('the former secret key of the tests', [])
  const signed = (await reportSending(former, campaign.id)).confirmationToken ?? ''
  const now = withKeys('the new secret key of the tests', ['the former secret key of the tests'])
  await expect(send(campaign.id, token, { by: now })).rejects.toMatchObject({ code: 'validation_error' })
  expect(await send(campaign.id, signed, { by: now })).toEqual({ queued: 3, unseen: 0 })
})

test('a report fails as sending would: not a DRAFT, an unknown field, a foreign sender', async () => {
  const { campaign } = await reportTestCampaign()
  const strict = { ...ctx, settings: { ...ctx.settings, mailFromDomains: ['example.org'] } }
  await updateCampaign(ctx, campaign.id, { fromEmail: 'news@example.com' })
  await expect(reportSending(strict, campaign.id)).rejects.toMatchObject({ issues: [{ path: 'fromEmail' }] })
  await ctx.db.update(campaigns).set({ subject: '{{ contact.gone }}' }).where(eq(campaigns.id, campaign.id))
  await expect(reportSending(ctx, campaign.id)).rejects.toMatchObject({
    code: 'wrong_state',
    issues: [{ path: 'subject' }],
  })
  await ctx.db.update(campaigns).set({ status: 'SENT' }).where(eq(campaigns.id, campaign.id))
  await expect(reportSending(ctx, campaign.id)).rejects.toMatchObject({ code: 'wrong_state' })
})
