import { createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { askVisitors, listVisitorMails } from '@rapport/testing/consent/visitor-mails.ts'
import { countRuns } from '@rapport/testing/runs.ts'
import { and, eq, sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { mails, visitorMails } from '../../db/schema/index.ts'
import { uuidOf } from '../../kernel/ids.ts'
import { clearDeletedList, deleteList } from '../../lists/delete-list.ts'
import type { List } from '../../lists/lists.schema.ts'
import { listSubscribers } from '../../lists/subscribers.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import { setQuotas } from '../../workspaces/set-quotas.ts'
import { findWaitingWorkspaces, releaseVisitorMails } from './release-visitor-mails.ts'
import { countWithheld } from './withheld-confirmations.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let list: List
beforeEach(async () => {
  await setQuotas(ctx, { confirmations: 3 })
  list = await createTestList(ctx)
})

/** Confirmations that wait for the budget, as visitors ask for them. */
async function insertWithheld(count: number, { hoursAgo = 0 } = {}): Promise<void> {
  await database.pool.query(
    `with flood as (
      insert into mails (workspace_id, id, kind, to_address, data)
        select $1, gen_random_uuid(), 'CONFIRMATION', 'flood-' || n || '@example.com', '{}'
        from generate_series(1, $2) n returning workspace_id, id)
    insert into visitor_mails (workspace_id, id, kind, list_id, contact_id, status, created_at)
      select workspace_id, id, 'CONFIRMATION', $3, gen_random_uuid(), 'WITHHELD', now() - interval '1 hour' * $4
      from flood`,
    [uuidOf(ctx.workspaceId), count, uuidOf(list.id), hoursAgo],
  )
}
/** How many rows the work reads. */
function countReads(work: (ctx: Ctx) => Promise<unknown>, table = 'visitor_mails'): Promise<number> {
  return inTransaction(ctx, async (ctx) => {
    const read = async () => {
      const { rows } = await ctx.db.execute<{ count: number }>(sql`
        select (coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int as count
        from pg_stat_xact_user_tables where relname = ${table}`)
      return rows[0]?.count ?? 0
    }
    const before = await read()
    await work(ctx)
    return (await read()) - before
  })
}
const countGivenUp = () =>
  ctx.db.$count(visitorMails, and(eq(visitorMails.workspaceId, ctx.workspaceId), eq(visitorMails.status, 'GIVEN_UP')))

test('what waits for a deleted list is given up in parts', async () => {
  await insertWithheld(700)
  await deleteList(ctx, list.id)
  const given = []
  while (await clearDeletedList(ctx, uuidOf(list.id))) given.push(await countGivenUp())
  expect(given).toEqual([500, 700])
  const isPending = and(eq(mails.workspaceId, ctx.workspaceId), eq(mails.status, 'PENDING'))
  expect(await ctx.db.$count(mails, isPending)).toBe(0)
})

test('mails that are too old are given up in parts, before any is released', async () => {
  await insertWithheld(1_500, { hoursAgo: 25 })
  const emails = await askVisitors(ctx, list.id, { count: 1 })
  expect(await releaseVisitorMails(ctx)).toEqual({ released: 0, withheld: 0, givenUp: 1_000 })
  expect(await releaseVisitorMails(ctx)).toEqual({ released: 1, withheld: 0, givenUp: 500 })
  expect(await listVisitorMails(ctx, 'RELEASED')).toEqual(emails)
})

test('those whose confirmation waits are found without a read of the whole list', async () => {
  await database.pool.query(
    `with people as (
      insert into contacts (workspace_id, id, email)
        select $1, gen_random_uuid(), n || '@example.com' from generate_series(1, 5000) n returning workspace_id, id)
    insert into subscriptions (workspace_id, list_id, contact_id, status, own_status, own_status_at)
      select workspace_id, $2, id, case when random() < 0.5 then 'CONFIRMED' else 'UNSUBSCRIBED' end, 'CONFIRMED', now()
      from people`,
    [uuidOf(ctx.workspaceId), uuidOf(list.id)],
  )
  await askVisitors(ctx, list.id, { count: 4 })
  await releaseVisitorMails(ctx)
  await database.pool.query('analyze subscriptions, visitor_mails, mails, suppressions')
  const query = { withheld: true, limit: 10, sort: '-createdAt' } as const
  const find = async (ctx: Ctx) => expect((await listSubscribers(ctx, list.id, query)).data).toHaveLength(1)
  expect(await countReads(find, 'subscriptions')).toBeLessThan(100)
  expect(await countReads((ctx) => countWithheld(ctx, list.id), 'subscriptions')).toBeLessThan(100)
})

const flood = countRuns({ gate: 2_000, full: 50_000 })
test(`a sign-up beside ${flood} withheld mails reads none of them`, async () => {
  await askVisitors(ctx, list.id, { count: 5 })
  await releaseVisitorMails(ctx)
  for (let part = 0; part < flood; part += 2_000) await insertWithheld(2_000)
  await database.pool.query('analyze visitor_mails')
  await askVisitors(ctx, list.id, { count: 1, name: 'late' })
  expect(await countReads((ctx) => findWaitingWorkspaces(ctx.db, { onlyNew: true }))).toBeLessThan(20)
  expect(await countReads((ctx) => releaseVisitorMails(ctx))).toBeLessThan(100)
  await setQuotas(ctx, { confirmations: 10 })
  expect(await countReads((ctx) => releaseVisitorMails(ctx))).toBeLessThan(200)
  expect(await listVisitorMails(ctx, 'RELEASED')).toHaveLength(10)
})
