/** Prepared statements read only the contacts that they concern, in a workspace that is far larger than most. */
import { sql } from 'drizzle-orm'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { claimTestBatch, sendTestBatch } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestCampaign,
  createTestContact,
  createTestDeal,
  createTestPipeline,
  createTestWorker,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { hidesPlans } from '@rapport/testing/postgres/explain.ts'
import { sendCampaign } from '../campaigns/send-campaign.ts'
import { confirmSubscribers } from '@rapport/testing/consent/confirm-subscribers.ts'
import { openDatabase } from '../db/client.ts'
import type { Db } from '../db/client.ts'
import { uuidOf } from '../kernel/ids.ts'
import type { Ctx } from '../request/context.ts'
import { writeContactBatch } from './batch/write-contact-batch.ts'
import type { Contact } from './contacts.schema.ts'
import { readContact } from './read-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
beforeAll(async () => {
  await database.db.execute(sql`
    insert into workspaces (id, name) select uuidv7(), 'small' from generate_series(1, 500)`)
  await database.db.execute(sql`
    insert into contacts (workspace_id, id, email)
    select id, uuidv7(), 'ada@example.com' from workspaces where name = 'small'`)
})

const calls: Record<string, (ctx: Ctx, contacts: readonly Contact[]) => Promise<unknown>> = {
  async 'creating deals'(ctx, contacts) {
    const { id: pipelineId } = await createTestPipeline(ctx)
    return Promise.all(contacts.map(({ id: contactId }) => createTestDeal(ctx, { pipelineId, contactId })))
  },
  async 'sending a campaign'(ctx, contacts) {
    const { id, listId } = await createTestCampaign(ctx)
    if (!listId) throw new Error('The campaign has no list')
    await confirmSubscribers(ctx, { listId, contacts })
    const earlier = await listPendingWork(ctx, 'campaigns')
    await sendCampaign(ctx, id)
    const batch = (await listPendingWork(ctx, 'campaigns')).find((uuid) => !earlier.includes(uuid))
    await sendTestBatch(ctx, await claimTestBatch(ctx, batch, await createTestWorker(ctx.db)))
  },
  'reading contacts': (ctx, contacts) => Promise.all(contacts.map(({ id }) => readContact(ctx, id))),
  'updating contacts': (ctx, contacts) => {
    const people = contacts.map(({ email }) => ({ email, company: crypto.randomUUID() }))
    return writeContactBatch(ctx, { contacts: people, onConflict: 'update' }, () => {})
  },
}

test.skipIf(hidesPlans).each(Object.keys(calls))('%s reads no other contact of the workspace', async (name) => {
  // The whole test uses one connection, as others report their reads later. All its calls wait for this one.
  const one = openDatabase(database.url, {
    applicationName: 'rapport test',
    maxConnections: 1,
    connectionTimeoutMs: 20_000,
    onError: () => {},
  })
  onTestFinished(() => one.close())
  const { db } = one
  const alone = { ...ctx, db }
  await db.execute(sql`
    insert into contacts (workspace_id, id, email)
    select ${uuidOf(ctx.workspaceId)}, uuidv7(), n || '@example.com' from generate_series(1, 5000) n`)
  const contacts = await Promise.all(Array.from({ length: 10 }, () => createTestContact(alone)))
  await db.execute(sql`analyze contacts`)
  const before = await countReads(db)
  // Enough for the generic plan.
  for (let round = 0; round < 10; round++) await calls[name]?.(alone, contacts)
  expect((await countReads(db)) - before).toBeLessThan(100 * 20)
})

/** Counts the index entries of contacts that were read, by this connection and, until their last report, by others. */
async function countReads(db: Db): Promise<number> {
  await db.execute(sql`select pg_stat_force_next_flush()`)
  const { rows } = await db.execute<{ count: number }>(sql`
    select sum(idx_tup_read)::int as count from pg_stat_user_indexes where relname = 'contacts'`)
  return rows[0]?.count ?? 0
}
