import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { newId, uuidOf } from '../kernel/ids.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  countRecipients,
  createTestCampaign,
  createTestWorker,
  expireWorkerHeartbeat,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { readStats } from './campaign-stats.ts'
import { updateCampaign, deleteCampaign, readCampaign } from './campaigns.ts'
import { sendCampaign } from './send-campaign.ts'
import type { RecipientOutcome } from './outcomes.ts'
import { type ClaimedBatch, claimRecipients } from './sending.ts'
import { recoverOrphanedClaims } from '../operations/recovery/recover-claims.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let workerId: string
beforeEach(async () => {
  workerId = await createTestWorker(database.db)
})

const start = (confirmed: number) => startTestCampaign(ctx, confirmed)
const claim = (uuid?: string, by = workerId) => claimTestBatch(ctx, uuid, by)

/** Sends to the recipients from index `from` to `to` of the batch, and records the same outcome for all of them. */
const send = async (batch: ClaimedBatch, [from, to]: [number, number], status?: RecipientOutcome['status']) =>
  (await sendTestBatch(ctx, batch, { from, to, ...(status && { status }) })).isStopped

test('the counters of a campaign match the statuses of its recipients', async () => {
  const { id, batches } = await start(230)
  const [first, second] = [await claim(batches[0]), await claim(batches[1], await createTestWorker(database.db))]
  await database.db.execute(sql`update subscriptions set status = 'UNSUBSCRIBED'
    where workspace_id = ${uuidOf(ctx.workspaceId)} and contact_id = ${first.contactUuids[7] ?? ''}`)
  await send(first, [0, 10])
  await send(first, [10, 15], 'FAILED')
  await send(first, [15, 17], 'INTERRUPTED')
  await send(first, [17, 20], 'WAITING')
  await send(second, [0, 4])
  await claimRecipients(ctx, first, first.contactUuids.slice(20, 25))
  await expireWorkerHeartbeat(database.db, workerId)
  await recoverOrphanedClaims(database.db)
  const counts = await countRecipients(ctx, id)
  expect(counts).toEqual({ SENT: 13, SKIPPED: 1, FAILED: 5, INTERRUPTED: 7, WAITING: 3 })
  expect(await readStats(ctx, id)).toEqual({
    queued: 230,
    anonymousOpens: 0,
    anonymousClicks: 0,
    sent: 13,
    skipped: 1,
    failed: 5,
    interrupted: 7,
    pending: 204,
    opened: 0,
    clicked: 0,
    unsubscribed: 0,
    bounced: 0,
    complained: 0,
    bouncesByClass: { HARD: 0, SOFT: 0, MESSAGE: 0, POLICY: 0 },
    links: [],
  })
})

test('a DRAFT can be deleted; a sent campaign can be neither deleted nor changed', async () => {
  const draft = await createTestCampaign(ctx, { confirmed: 1 })
  await deleteCampaign(ctx, draft.id)
  await expect(readCampaign(ctx, draft.id)).rejects.toMatchObject({ code: 'not_found' })
  await expect(deleteCampaign(ctx, draft.id)).rejects.toMatchObject({ code: 'not_found' })
  const sent = await createTestCampaign(ctx, { listId: draft.listId ?? newId('lst') })
  await sendCampaign(ctx, sent.id)
  for (const change of [() => deleteCampaign(ctx, sent.id), () => updateCampaign(ctx, sent.id, { name: 'x' })]) {
    await expect(change()).rejects.toMatchObject({
      code: 'wrong_state',
      message: expect.stringMatching(/^Only a DRAFT/),
    })
  }
})
