import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import {
  createTestCampaign,
  createTestCtx,
  createTestWorker,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { transaction } from '../db/transaction.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { sendCampaign } from './send-campaign.ts'
import { claimBatch, claimRecipients, recordRecipientOutcomes } from './sending.ts'

const database = useTestDatabase()

test('recording outcomes reads only the batch, even without table statistics', async () => {
  const ctx = await createTestCtx(database.db)
  const { id } = await createTestCampaign(ctx, { confirmed: 3 })
  await sendCampaign(ctx, id)
  const [uuid = ''] = await listPendingWork(ctx, 'campaigns')
  const batch = await claimBatch(ctx, uuid, await createTestWorker(database.db))
  if (!batch) throw new Error('The batch could not be claimed')
  const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids)
  const outcomes = recipients.map(({ id }) => ({ contactId: id, status: 'SENT' as const, error: null }))
  const plan = await transaction(database.db, async (db) => {
    await recordRecipientOutcomes({ ...ctx, db }, batch, outcomes)
    await db.execute(sql`set local plan_cache_mode = force_generic_plan`)
    await db.execute(sql`set local enable_seqscan = off`)
    const { rows } = await db.execute<{ count: number }>(sql`
      select cardinality(parameter_types) as count from pg_prepared_statements where name = 'record recipient outcomes'`)
    const values = Array.from({ length: rows[0]?.count ?? 0 }, () => 'null').join(', ')
    const lines = await db.execute<Record<string, string>>(
      sql.raw(`explain execute "record recipient outcomes" (${values})`),
    )
    return lines.rows.map((line) => line['QUERY PLAN']).join('\n')
  })
  expect(plan).toMatch(
    /on campaign_recipients r .*\n +(Recheck|Index) Cond: \(\(workspace_id = \$\d+\) AND \(batch_id = \$\d+\)/,
  )
})
