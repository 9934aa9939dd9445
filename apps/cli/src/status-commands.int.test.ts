/** Tests the commands that show campaigns and webhooks. */
import { pauseCampaign } from '@rapport/core/campaigns/lifecycle.ts'
import { newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { updateWebhook } from '@rapport/core/operations/webhooks/save-webhook.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestCampaign,
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { createFailingPeriod, setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { expect, test } from 'vitest'
import { runCommandLine, runForJson } from './testing.ts'
import { timestampAt } from '@rapport/core/kernel/values/timestamps.ts'

const database = useTestDatabase()
const show = async (...words: string[]) => (await runCommandLine(database.url, words)).stdout

test('campaign status shows counters, rate and remaining time of campaigns in progress', async () => {
  expect(await show('campaign', 'status')).toBe('No campaign is SENDING or PAUSED.')
  const [ctx, other] = [await createTestCtx(database.db), await createTestCtx(database.db)]
  const [campaign, foreign] = [await startTestCampaign(ctx, 10), await startTestCampaign(other, 1)]
  const batch = await claimTestBatch(ctx, campaign.batches[0], await createTestWorker(database.db))
  await sendTestBatch(ctx, batch, { to: 3 })
  await sendTestBatch(ctx, batch, { from: 3, to: 4, status: 'FAILED' })
  // As if it had begun two minutes ago, so that the rate is that of a full minute.
  await database.pool.query(`update campaigns set sent_at = now() - interval '2 minutes'`)

  const expected = {
    id: campaign.id,
    workspaceId: ctx.workspaceId,
    name: 'November',
    status: 'SENDING',
    pauseReason: null,
    queued: 10,
    sent: 3,
    failed: 1,
    skipped: 0,
    interrupted: 0,
    pending: 6,
    recipientsPerMinute: 4,
    remainingSeconds: 90,
    sentAt: expect.any(String),
    completedAt: null,
  }
  const words = ['campaign', 'status', '--workspace', ctx.workspaceId]
  expect(await runForJson(database.url, words)).toEqual({ data: [expected] })
  const text = await show(...words)
  expect(text).toContain('Recipients  4 of 10: 3 sent, 1 failed, 0 skipped, 0 interrupted, 6 pending\n')
  expect(text).toContain('Rate        4 per minute\nRemaining   about 90 s\n')
  const all = await show('campaign', 'status')
  for (const { id } of [campaign, foreign]) expect(all).toContain(id)

  await pauseCampaign(ctx, campaign.id)
  await database.pool.query(`update campaigns set pause_reason = 'All emails were rejected' where queued = 10`)
  const paused = await show('campaign', 'status', campaign.id)
  expect(paused).toContain('Status      PAUSED: All emails were rejected\n')
  expect(paused).not.toMatch(/Rate|Remaining/)
})

test('a campaign that began seconds ago has the rate of these seconds', async () => {
  const ctx = await createTestCtx(database.db)
  const campaign = await startTestCampaign(ctx, 10)
  await database.pool.query(`update campaigns set sent_at = now() - interval '30 seconds' where queued = 10`)
  const batch = await claimTestBatch(ctx, campaign.batches[0], await createTestWorker(database.db))
  await sendTestBatch(ctx, batch, { to: 5 })
  const { data } = (await runForJson(database.url, ['campaign', 'status', campaign.id])) as {
    data: { recipientsPerMinute: number }[]
  }
  expect(data[0]?.recipientsPerMinute).toBeGreaterThan(5)
  expect(data[0]?.recipientsPerMinute).toBeLessThanOrEqual(10)
})

test('campaign status finds a campaign in any status by its id, in its workspace only', async () => {
  const [ctx, other] = [await createTestCtx(database.db), await createTestCtx(database.db)]
  const draft = await createTestCampaign(ctx)
  expect(await runForJson(database.url, ['campaign', 'status', draft.id])).toMatchObject({
    data: [{ id: draft.id, status: 'DRAFT', queued: 0, remainingSeconds: null, sentAt: null }],
  })
  const notFound = 'not found. "rapport campaign status" lists those in progress.'
  await expect(show('campaign', 'status', draft.id, '--workspace', other.workspaceId)).rejects.toThrow(
    `Campaign ${draft.id} ${notFound}`,
  )
  const unknown = newId('cmp')
  await expect(show('campaign', 'status', unknown)).rejects.toThrow(`Campaign ${unknown} ${notFound}`)
})

test('webhook failing lists enabled webhooks that fail, without the secrets of URLs', async () => {
  expect(await show('webhook', 'failing')).toBe('No webhook has failed for an hour.')
  const [ctx, other] = [await createTestCtx(database.db), await createTestCtx(database.db)]
  const url = 'https://hooks.example.com:8443/hidden?token=hidden'
  const [old, silent, recent, disabled, foreign] = [
    await createTestWebhook(ctx, { url }),
    await createTestWebhook(ctx),
    await createTestWebhook(ctx),
    await createTestWebhook(ctx),
    await createTestWebhook(other),
  ]
  await createTestContact(ctx)
  await database.pool.query(`update deliveries set status = 'FAILED', error = 'HTTP 503' where webhook_id in (
    select id from webhooks where url like '%hidden%')`)
  const pausedUntil = timestampAt(Date.now() + 60_000)
  await setHealth(ctx, old.id, { ...createFailingPeriod(30, 12), pausedUntil })
  const lastFailureAt = timestampAt(Date.now() - 25 * 3_600_000)
  await setHealth(ctx, silent.id, { ...createFailingPeriod(60, 12), lastFailureAt })
  await setHealth(ctx, recent.id, createFailingPeriod(0.9, 12))
  await setHealth(ctx, disabled.id, createFailingPeriod(30, 12))
  await updateWebhook(ctx, disabled.id, { enabled: false })
  await setHealth(other, foreign.id, createFailingPeriod(2, 3))

  const json = await runForJson(database.url, ['webhook', 'failing'])
  expect(json).toEqual({
    data: [
      {
        workspaceId: ctx.workspaceId,
        webhookId: old.id,
        origin: 'https://hooks.example.com:8443',
        failingSince: expect.any(String),
        failureCount: 12,
        lastFailureAt: expect.any(String),
        lastError: 'HTTP 503',
        pausedUntil,
      },
      expect.objectContaining({ webhookId: foreign.id, failureCount: 3, lastError: null, pausedUntil: null }),
    ],
  })
  expect(JSON.stringify(json)).not.toContain('hidden')
  await createTestContact(other)
  await database.pool.query(`update deliveries set error = 'Not sent' where webhook_id = $1`, [uuidOf(foreign.id)])
  const unsigned = await runForJson(database.url, ['webhook', 'failing', '--workspace', other.workspaceId])
  expect(unsigned).toMatchObject({ data: [{ webhookId: foreign.id, lastError: 'Not sent' }] })
  const own = await show('webhook', 'failing', '--workspace', other.workspaceId)
  expect(own).toMatch(/^failing since +failures +paused until +workspace +webhook +receiver +last error\n/)
  expect(own).toContain(foreign.id)
  expect(own).not.toContain(old.id)
})
