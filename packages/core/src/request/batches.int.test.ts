/** A transaction leaves dead rows of what it has changed: the batches of a change must not begin at the first again. */
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { createTestContact, createTestPipeline } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { deals, tasks } from '../db/schema/index.ts'
import { eraseDealsOfContact } from '../deals/erase-deals.ts'
import { moveDeals } from '../deals/update-deal.ts'
import { type ContactId, newId } from '../kernel/ids.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { deleteTasksOfContact, moveTasks } from '../tasks/tasks.ts'
import { type Ctx, inTransaction } from './context.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const count = 4_000
const range = Array.from({ length: count })

const insertDeals = (state: Partial<typeof deals.$inferInsert>) => async (ctx: Ctx, contactId: ContactId) => {
  const { id: pipelineId, stages } = await createTestPipeline(ctx, ['a'])
  const common = { workspaceId: ctx.workspaceId, pipelineId, stageId: stages[0]?.id ?? newId('stg'), contactId }
  await ctx.db.insert(deals).values(range.map(() => ({ ...common, ...state, id: newId('dea') })))
}
const insertOpenDeals = insertDeals({})
const insertWonDeals = insertDeals({ status: 'WON', closedAt: timestampNow() })

const insertTasks = async ({ db, workspaceId }: Ctx, contactId: ContactId) => {
  await db.insert(tasks).values(range.map(() => ({ workspaceId, id: newId('tsk'), contactId, title: 'Call' })))
}

async function countReads({ db }: Ctx): Promise<number> {
  const { rows } = await db.execute<{ count: number }>(sql`
    select sum(pg_stat_get_xact_tuples_returned(of.oid))::int as count
    from (select 'deals'::regclass::oid union all select 'tasks'::regclass::oid
      union all select indexrelid from pg_index where indrelid in ('deals'::regclass, 'tasks'::regclass)) of (oid)`)
  return rows[0]?.count ?? 0
}

type Change = (ctx: Ctx, contacts: { from: ContactId; to: ContactId }) => Promise<void>
const eraseDeals: Change = (ctx, { from }) => eraseDealsOfContact(ctx, from)
const deleteTasks: Change = (ctx, { from }) => deleteTasksOfContact(ctx, from)

test.each<[string, typeof insertTasks, Change]>([
  ['a merge moves deals', insertOpenDeals, moveDeals],
  ['a merge moves tasks', insertTasks, moveTasks],
  ['an erasure deletes open deals', insertOpenDeals, eraseDeals],
  ['an erasure empties closed deals', insertWonDeals, eraseDeals],
  ['an erasure deletes tasks', insertTasks, deleteTasks],
])('%s, and reads each a few times', async (_name, insert, change) => {
  const contacts = { from: (await createTestContact(ctx)).id, to: (await createTestContact(ctx)).id }
  const reads = await inTransaction(ctx, async (ctx) => {
    await insert(ctx, contacts.from)
    const before = await countReads(ctx)
    await change(ctx, contacts)
    return (await countReads(ctx)) - before
  })
  expect(reads).toBeLessThan(8 * count)
})
