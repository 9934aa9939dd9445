import { sql } from 'drizzle-orm'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { purgeEvents } from '../events/purge-events.ts'
import { newId, uuidAt, uuidOf } from '../kernel/ids.ts'
import { claimTestDrain, drainTestBacklog } from '@rapport/testing/fixtures/webhook-drain.ts'
import { maintainPartitions, readSecondsAhead } from './partitions.ts'
import { clearDeletedWorkspace, deleteWorkspace } from '../operations/workspaces/delete-workspace.ts'
import { readWorkspace } from '../workspaces/workspaces.ts'
import {
  createTestDatabase,
  openTransaction,
  type TestDatabase,
  waitUntilBlocked,
} from '@rapport/testing/postgres/database.ts'
import {
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  listEventTypes,
  readSingleDelivery,
} from '@rapport/testing/fixtures/factories.ts'
import { explainSelects, hidesPlans } from '@rapport/testing/postgres/explain.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { EventQuery } from '../webhooks/deliveries.schema.ts'
import { redeliver, redeliverMany } from '../webhooks/delivery-log.ts'
import { releaseUnacknowledgedDrain } from '../webhooks/drain/drain.ts'
import { listEvents } from '../webhooks/event-feed.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'

let database: TestDatabase
let ctx: Ctx
beforeEach(async () => {
  database = await createTestDatabase()
  ctx = await createTestCtx(database.db)
})
afterEach(() => database.close())

const dayMs = 86_400_000
const inDays = (days: number) => timestampAt(Date.now() + days * dayMs)
const maintainOnceIn = (days: number, options = {}) =>
  maintainPartitions(database.db, { now: new Date(inDays(days)), ...options })
/** Maintains until no table is locked, by a transaction or by a slow machine. */
async function maintainIn(days: number, options = {}): Promise<{ added: string[]; dropped: string[] }> {
  const { added, dropped, lockedTables } = await maintainOnceIn(days, options)
  if (lockedTables.length === 0) return { added, dropped }
  const rest = await maintainIn(days, options)
  return { added: [...added, ...rest.added], dropped: [...dropped, ...rest.dropped] }
}
const dropIn = async (days: number) => (await maintainIn(days)).dropped
const noChanges = { added: [], dropped: [] }

/** The number of rows in each partition that is not empty. */
async function countRows(table: 'events' | 'deliveries'): Promise<number[]> {
  const found = await database.db.execute<{ count: number }>(sql`
    select count(*)::int as count from ${sql.identifier(table)} group by tableoid::regclass order by min(id::text)`)
  return found.rows.map(({ count }) => count)
}

/** Inserts events with the time of so many days from now; negative: ago. */
async function insertEventsIn(days: number, { count = 1, on = ctx } = {}): Promise<void> {
  await database.db.execute(sql`
    insert into events (workspace_id, id, type, data, created_at)
    select ${uuidOf(on.workspaceId)}::uuid, uuidv7(make_interval(days => ${days})), 'contact.created', '{}',
      now() + make_interval(days => ${days}) from generate_series(1, ${count})`)
}

async function deliverAll(): Promise<void> {
  const workerId = await createTestWorker(database.db)
  await drainTestBacklog(ctx, { workerId })
}

/** Creates a webhook and an event whose delivery succeeded. */
async function createDelivered() {
  const webhook = await createTestWebhook(ctx)
  await createTestContact(ctx)
  await deliverAll()
  return { webhook, delivery: await readSingleDelivery(ctx) }
}

test('expired partitions are dropped, and rows younger than 30 days are kept', async () => {
  await createDelivered()
  await maintainIn(14)
  await insertEventsIn(20)
  const later = await maintainIn(29)
  expect([later.dropped, await countRows('events'), await countRows('deliveries')]).toEqual([[], [1, 1], [1]])
  expect(await dropIn(45)).toEqual(['events_past', 'deliveries_past'])
  expect([await countRows('events'), await countRows('deliveries')]).toEqual([[1], []])
  expect(await maintainIn(45)).toEqual(noChanges)
})

test('partitions are created one or two weeks ahead', async () => {
  // The template may have been created last week.
  await maintainIn(0)
  expect(await readSecondsAhead(database.db)).toBeGreaterThan((7 * dayMs) / 1_000)
  expect(await maintainIn(0)).toEqual(noChanges)
  for (const week of [7, 14, 21, 28]) expect((await maintainIn(week)).added).toHaveLength(2)
  await maintainIn(30)
  expect(await readSecondsAhead(database.db)).toBeLessThan(((30 + 15) * dayMs) / 1_000)
  expect(await maintainIn(30)).toEqual(noChanges)
})

test('every id has a partition, even after a year without maintenance', async () => {
  const days = [-20_000, -400, -40, 0, 6, 13, 40, 400, 20_000]
  for (const day of days) await insertEventsIn(day)
  for (const age of [0, 30, 100, 365]) {
    await maintainIn(age)
    for (const day of days) await insertEventsIn(day + age)
  }
  expect(await listEventTypes(ctx)).not.toHaveLength(0)
})

test.each([
  { shouldValidateFirst: false, by: 'a worker' },
  { shouldValidateFirst: true, by: 'a migration' },
])('$by splits a filled last partition and keeps its rows during writes', async (options) => {
  await insertEventsIn(30, { count: 3_000 })
  let written = 0
  const stopping = new AbortController()
  const writing = Promise.all(
    Array.from({ length: 4 }, async () => {
      for (; !stopping.signal.aborted; written += 1) await createTestContact(ctx)
    }),
  )
  await waitUntil(() => written > 10, { describe: 'contacts are written' })
  const changes = await maintainIn(35, options)
  const before = written
  await waitUntil(() => written > before + 10, { describe: 'contacts are still written' })
  stopping.abort()
  await writing
  expect(changes.added).not.toEqual([])
  expect((await listEventTypes(ctx)).length).toBe(3_000 + written)
  expect(await countRows('events')).toEqual([written, 3_000])
  expect(await maintainIn(35)).toEqual(noChanges)
})

test('a row dated years ahead prevents a split until it is purged', async () => {
  await insertEventsIn(4_000)
  expect((await maintainIn(60)).added.filter((name) => name.startsWith('events'))).toEqual([])
  await database.db.execute(sql`update events set created_at = now() - interval '40 days'`)
  expect(await purgeEvents(database.db)).toBe(1)
  expect((await maintainIn(60)).added.filter((name) => name.startsWith('events'))).not.toEqual([])
})

test('a constraint that a killed migration left behind is removed', async () => {
  await insertEventsIn(30)
  const { rows } = await database.db.execute<{ name: string }>(
    sql`select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass order by 1`,
  )
  await database.db.execute(sql`
    alter table ${sql.identifier(rows[0]?.name ?? '')} add constraint split_check check (id < '01c00000-0000-7000-8000-000000000000') not valid`)
  await maintainIn(60)
  await insertEventsIn(3_000)
  const left = await database.db.execute(sql`select from pg_constraint where conname = 'split_check'`)
  expect([left.rowCount, await countRows('events')]).toEqual([0, [1, 1]])
})

test('concurrent runs split and drop once, during reads and writes', async () => {
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  await deliverAll()
  const over = new AbortController()
  const busy = Promise.all([
    (async () => {
      while (!over.signal.aborted) await createTestContact(ctx)
    })(),
    (async () => {
      while (!over.signal.aborted) await listEvents(ctx, EventQuery.parse({ limit: '2' }))
    })(),
  ])
  const changes = await Promise.all(Array.from({ length: 4 }, () => maintainIn(40)))
  over.abort()
  await busy
  const added = changes.flatMap(({ added }) => added)
  expect(added.length).toBe(new Set(added).size)
  await deliverAll()
  await dropIn(70)
  expect([await countRows('events'), await countRows('deliveries')]).toEqual([[], []])
})

test('an event and its delivery are not dropped before the delivery has ended', async () => {
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  expect(await dropIn(70)).toEqual([])
  // Also while the delivery is in flight.
  const { claim } = await claimTestDrain(ctx, { workerId: await createTestWorker(database.db) })
  expect(await dropIn(70)).toEqual([])
  await releaseUnacknowledgedDrain(database.db, claim)
  await deliverAll()
  expect(await dropIn(70)).toEqual(['events_past', 'deliveries_past'])
})

test('an event is not dropped during its redelivery', async () => {
  const { webhook, delivery } = await createDelivered()
  await maintainIn(14)
  for (const again of [
    (ctx: Ctx) => redeliver(ctx, webhook.id, delivery.id),
    (ctx: Ctx) =>
      redeliverMany(ctx, webhook.id, {
        status: 'SUCCEEDED',
        createdAfter: inDays(-1),
        createdBefore: inDays(1),
        dryRun: false,
      }),
  ]) {
    const redelivering = await openTransaction(database.db, (db) => again({ ...ctx, db }))
    expect(await maintainOnceIn(45)).toMatchObject({ dropped: [], lockedTables: ['events', 'deliveries'] })
    await redelivering.commit()
    expect(await dropIn(45)).toEqual([])
    await deliverAll()
  }
  expect(await dropIn(45)).toEqual(['events_past', 'deliveries_past'])
})

test('redelivery of a dropped event is a conflict, and its delivery is kept', async () => {
  const { webhook, delivery } = await createDelivered()
  await maintainIn(14)
  // As if the delivery were a redelivery, 20 days after the event.
  await database.db.execute(sql`
    update deliveries set id = ${uuidAt(Date.now() + 20 * 86_400_000)}, created_at = now() + interval '20 days'`)
  const later = await readSingleDelivery(ctx)
  expect(later.id).not.toBe(delivery.id)
  const dropping = await openTransaction(database.db, (db) => db.execute(sql`drop table events_past`))
  const redelivering = redeliver(ctx, webhook.id, later.id)
  await waitUntilBlocked(database.db)
  await Promise.all([dropping.commit(), expect(redelivering).rejects.toMatchObject({ code: 'wrong_state' })])
  const all = { status: 'SUCCEEDED', createdAfter: inDays(-1), createdBefore: inDays(30) } as const
  expect(await redeliverMany(ctx, webhook.id, { ...all, dryRun: true })).toEqual({ queued: 0 })
  expect(await redeliverMany(ctx, webhook.id, { ...all, dryRun: false })).toEqual({ queued: 0 })
})

test('a long transaction delays maintenance but blocks no writes', async () => {
  await createTestContact(ctx)
  const dump = await openTransaction(database.db, (db) => db.execute(sql`select from events`))
  // On a slow machine, the deliveries may be locked too, but not every time.
  const maintaining = waitUntil(async () => (await maintainOnceIn(70)).lockedTables.join() === 'events', {
    describe: 'only the events are locked',
  })
  await Promise.all([maintaining, createTestContact(ctx)])
  await dump.commit()
  expect(await dropIn(70)).toEqual(['events_past'])
})

test('deleting a workspace keeps the rows of other workspaces in all partitions', async () => {
  const other = await createTestCtx(database.db)
  await maintainIn(14)
  await insertEventsIn(0, { count: 50 })
  await insertEventsIn(20, { count: 50, on: other })
  await deleteWorkspace(ctx, await readWorkspace(ctx))
  while (await clearDeletedWorkspace(ctx, uuidOf(ctx.workspaceId)));
  expect(await countRows('events')).toEqual([50])
})

test.skipIf(hidesPlans)('a lookup by id scans one partition, and the feed is merged without sorting', async () => {
  await maintainIn(60)
  const explain = async (query: string) => {
    const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(`explain ${query}`, [uuidOf(ctx.workspaceId)])
    return rows.map((row) => row['QUERY PLAN']).join('\n')
  }
  for (const table of ['events', 'deliveries']) {
    const plan = await explain(`select * from ${table} where workspace_id = $1 and id = '${uuidOf(newId('evt'))}'`)
    expect(plan.match(/Scan .* on \w+/g)).toHaveLength(1)
  }
  const [feed = ''] = await explainSelects(database, { ctx, table: 'events' }, (ctx) =>
    listEvents(ctx, EventQuery.parse({ limit: '50' })),
  )
  expect(feed).toMatch(/Merge Append/)
  expect(feed).not.toMatch(/Seq Scan|Sort {2}/)
})
