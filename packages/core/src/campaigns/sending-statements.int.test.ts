import { hidesPlans } from '@rapport/testing/postgres/explain.ts'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { claimTestBatch } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestCampaign,
  createTestCtx,
  createTestWorker,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { canDeadlock, deadlockOnce } from '@rapport/testing/postgres/deadlock-once.ts'
import { addSubscriber } from '../lists/subscribers.ts'
import { updateContact } from '../contacts/update-contact.ts'
import type { Db } from '../db/client.ts'
import { transaction } from '../db/transaction.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { cancelCampaign, pauseCampaign, retryCampaign } from './lifecycle.ts'
import { interruptRecipients } from './recipient-counters.ts'
import { sendCampaign } from './send-campaign.ts'
import { askAgain, claimRecipients, recordRecipientOutcomes } from './sending.ts'

const database = useTestDatabase()

async function claimSentCampaign() {
  const ctx = await createTestCtx(database.db)
  const { id, listId } = await createTestCampaign(ctx, { confirmed: 3 })
  await sendCampaign(ctx, id)
  const [uuid = ''] = await listPendingWork(ctx, 'campaigns')
  const batch = await claimTestBatch(ctx, uuid, await createTestWorker(database.db))
  const { recipients } = await claimRecipients(ctx, batch, batch.contactUuids)
  const outcomes = recipients.map(({ id }) => ({ contactId: id, status: 'SENT' as const, error: null }))
  return { ctx, listId, batch, recipients, outcomes }
}

test('an outcome that waits for a recovery is counted from INTERRUPTED, not SENDING', async () => {
  const { ctx, batch, outcomes } = await claimSentCampaign()
  const recovery = await openTransaction(database.db, (db) =>
    interruptRecipients({ ...ctx, db }, batch.claim.id, 'The worker crashed'),
  )
  const recording = recordRecipientOutcomes(ctx, batch, outcomes)
  await waitUntilBlocked(database.db)
  await recovery.commit()
  await recording
  const counters = await database.db.execute(sql`
    select sent, interrupted from campaign_batches where id = ${batch.claim.id}`)
  expect(counters.rows).toEqual([{ sent: 3, interrupted: 0 }])
})

test.each([
  ['pause', pauseCampaign],
  ['cancellation', cancelCampaign],
] as const)('claiming a group waits for no %s, so that none is claimed after it', async (_what, stop) => {
  const { ctx, batch } = await claimSentCampaign()
  const stopping = await openTransaction(database.db, (db) => stop({ ...ctx, db }, batch.campaignId))
  expect(await claimRecipients(ctx, batch, [])).toMatchObject({ isStopped: false })
  await stopping.commit()
  expect(await claimRecipients(ctx, batch, [])).toMatchObject({ isStopped: true })
})

// It locks batches in the order in which it finds them, and so does a report about several recipients.
test.skipIf(!canDeadlock())('a retry that deadlocks once is repeated', async () => {
  const { ctx, batch, recipients } = await claimSentCampaign()
  const failed = recipients.map(({ id }) => ({ contactId: id, status: 'FAILED' as const, error: '550 no' }))
  await recordRecipientOutcomes(ctx, batch, failed)
  const retry = async () => {
    expect(await retryCampaign(ctx, batch.campaignId, { includeInterrupted: false })).toEqual({ queued: 3 })
  }
  expect(await deadlockOnce(database.db, ['campaign_recipients'], retry)).toBe(true)
})

/** Returns the plan of a prepared statement for any parameters. */
async function explainPrepared(db: Db, name: string): Promise<string> {
  await db.execute(sql`set local plan_cache_mode = force_generic_plan`)
  const { rows } = await db.execute<{ count: number }>(sql`
    select cardinality(parameter_types) as count from pg_prepared_statements where name = ${name}`)
  const values = Array.from({ length: rows[0]?.count ?? 0 }, () => 'null').join(', ')
  const lines = await db.execute<Record<string, string>>(sql.raw(`explain execute "${name}" (${values})`))
  return lines.rows.map((line) => line['QUERY PLAN']).join('\n')
}

test.skipIf(hidesPlans)('claiming recipients reads the alias of each, not all of the workspace', async () => {
  const { ctx, batch } = await claimSentCampaign()
  const plan = await transaction(database.db, async (db) => {
    await claimRecipients({ ...ctx, db }, batch, [])
    return explainPrepared(db, 'claim recipients')
  })
  expect(plan).toMatch(/on contact_aliases a .*\n +Index Cond: \(\(workspace_id = \$\d+\) AND \(id = recipient.id\)\)/)
})

test.skipIf(hidesPlans)('recording outcomes reads only the batch, even without table statistics', async () => {
  const { ctx, batch, outcomes } = await claimSentCampaign()
  const plan = await transaction(database.db, async (db) => {
    await recordRecipientOutcomes({ ...ctx, db }, batch, outcomes)
    // In a table of few pages, every index costs the same.
    await db.execute(sql`
      insert into campaign_recipients (workspace_id, campaign_id, contact_id, batch_id, status)
      select workspace_id, campaign_id, gen_random_uuid(), gen_random_uuid(), 'SENT'
      from campaign_batches cross join generate_series(1, 2000) where id = ${batch.claim.id}`)
    await db.execute(sql`set local enable_seqscan = off`)
    return explainPrepared(db, 'record recipient outcomes')
  })
  const scans = plan.match(/on campaign_recipients r\S* +\(.*\n +\S+ Cond: .*/g) ?? []
  expect(scans).toHaveLength(2)
  for (const scan of scans) {
    expect(scan).toMatch(/(Recheck|Index) Cond: \(\(workspace_id = \$\d+\) AND \(batch_id = \$\d+\)/)
  }
})

test('a mail that waited is skipped for a contact that left, moved or was merged', async () => {
  const { ctx, listId, batch, recipients } = await claimSentCampaign()
  const [moved, merged, other] = recipients
  if (!moved || !merged || !other || !listId) throw new Error('No recipients')
  const ask = (recipient: typeof moved) => askAgain(ctx, batch, recipient)
  await updateContact(ctx, moved.id, { email: 'moved@example.com' })
  const hasMoved = { reason: 'The address of the contact has changed' }
  expect(await ask(moved)).toEqual(hasMoved)
  // The mail would show another person the name and the links of the one who left.
  await addSubscriber(ctx, listId, { email: moved.email, status: 'CONFIRMED' })
  expect(await ask(moved)).toEqual(hasMoved)
  await mergeContacts(ctx, other.id, { contactId: merged.id })
  expect(await ask(merged)).toEqual({ reason: 'The contact was merged into another' })
  expect(await ask(other)).toEqual({ reason: null })
  await deleteContact(ctx, other.id)
  expect(await ask(other)).toEqual({ reason: 'The contact is no longer subscribed' })
})
