/** Work in lanes: how much of it is handed over at a time, and that nobody waits for another's lane. */
import { randomUUID } from 'node:crypto'
import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import type { Ctx } from '../request/context.ts'
import { uuidOf } from '../kernel/ids.ts'
import { finishWork, laneRoom, quickRoom, type RelayedWork, relayLanes, relayWork, workspaceRoom } from './outbox.ts'
import { outbox } from '../db/schema/index.ts'
import { openTransaction } from '@rapport/testing/postgres/database.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  await database.db.delete(outbox)
  ctx = await createTestCtx(database.db)
})

/** So many pieces of work in a lane, the oldest first. */
async function fillLane(count: number, on: Ctx = ctx, lane = randomUUID()): Promise<string> {
  await on.db.execute(sql`
    insert into outbox (id, workspace_id, queue, lane, created_at)
    select uuidv7(), ${uuidOf(on.workspaceId)}, 'webhooks', ${lane}, now() - interval '1 hour' + n * interval '1 ms'
    from generate_series(1, ${count}::int) n`)
  return lane
}

async function relay(quickLanes: string[] = []): Promise<string[]> {
  const taken: RelayedWork[] = []
  await relayLanes(database.db, { epoch: 'one', quickLanes }, async (work) => void taken.push(...work))
  return taken.map(({ data }) => data.id)
}

async function countByLane(ids: string[]): Promise<Record<string, number>> {
  const { rows } = await database.pool.query<{ lane: string }>('select lane from outbox where id = any($1)', [ids])
  return Object.fromEntries([...Map.groupBy(rows, ({ lane }) => lane)].map(([lane, of]) => [lane, of.length]))
}

test('of ten thousand in a lane as many are handed over as there is room for, the oldest first; another lane is not behind them', async () => {
  const long = await fillLane(10_000)
  const short = await fillLane(2, await createTestCtx(database.db))
  const ids = await relay()
  expect(await countByLane(ids)).toEqual({ [long]: laneRoom, [short]: 2 })
  const oldest = await database.pool.query<{ id: string }>(
    'select id from outbox where lane = $1 order by created_at limit $2',
    [long, laneRoom],
  )
  expect(oldest.rows.every(({ id }) => ids.includes(id))).toBe(true)
  expect(await relay()).toEqual([])
})

test('of tens of thousands that wait only those are read that there may be room for', async () => {
  await fillLane(30_000)
  await database.pool.query('vacuum analyze outbox')
  const read = async () => {
    const { rows } = await database.pool.query<{ count: string }>(`
      select seq_tup_read + (select sum(idx_tup_read) from pg_stat_user_indexes where relname = 'outbox') as count
      from pg_stat_user_tables where relname = 'outbox'`)
    return Number(rows[0]?.count)
  }
  const flushed = () => database.pool.query('select pg_stat_force_next_flush()')
  await flushed()
  const before = await read()
  expect(await relay()).toHaveLength(laneRoom)
  await flushed()
  expect((await read()) - before).toBeLessThan(1_000)
})

test('what is done makes room for as much', async () => {
  await fillLane(20)
  const [first = '', second = ''] = await relay()
  await finishWork(database.db, [first, second])
  expect(await relay()).toHaveLength(2)
  expect(await relay()).toEqual([])
})

test('a workspace with many lanes is given its share, from all of them, and others theirs', async () => {
  const lanes = await Promise.all(Array.from({ length: 10 }, () => fillLane(50)))
  const other = await fillLane(50, await createTestCtx(database.db))
  const counts = await countByLane(await relay())
  const { [other]: theirs, ...ours } = counts
  expect(theirs).toBe(laneRoom)
  expect(Object.keys(ours).toSorted()).toEqual(lanes.toSorted())
  expect(Object.values(ours)).toEqual(lanes.map(() => workspaceRoom / lanes.length))
  expect(await relay()).toEqual([])
})

test('a quick lane is given more, but never what another one of the workspace would begin with', async () => {
  const quick = await fillLane(50)
  expect(await relay()).toHaveLength(laneRoom)
  expect(await relay([randomUUID()])).toEqual([])
  expect(await relay([quick])).toHaveLength(quickRoom - laneRoom)
  expect(await relay([quick])).toEqual([])
  const other = await fillLane(50)
  expect(await countByLane(await relay([quick, other]))).toEqual({ [other]: laneRoom })
  // What is handed over of it beyond the others' is not replaced, as long as they have theirs.
  const busy = await database.pool.query<{ id: string }>(
    'select id from outbox where lane = $1 and relayed_epoch is not null limit 10',
    [quick],
  )
  await finishWork(
    database.db,
    busy.rows.slice(0, 5).map(({ id }) => id),
  )
  expect(await relay([quick])).toEqual([])
  await finishWork(
    database.db,
    busy.rows.slice(5).map(({ id }) => id),
  )
  expect(await countByLane(await relay([quick]))).toEqual({ [quick]: 5 })
})

test('what all others may have comes before what a quick lane may have besides', async () => {
  const [quick, slow] = [await fillLane(50), await fillLane(50)]
  expect(await countByLane(await relay([quick]))).toEqual({ [quick]: quickRoom - laneRoom, [slow]: laneRoom })
})

test('two relays at once hand over no more than one', async () => {
  await fillLane(100)
  const both = await Promise.all([relay(), relay()])
  expect(both.flat()).toHaveLength(laneRoom)
})

test('what is being claimed at this moment is passed over, and nobody waits for it', async () => {
  await fillLane(3)
  const claiming = await openTransaction(database.db, (db) =>
    db.execute(sql`select from outbox order by created_at limit 1 for update`),
  )
  expect(await relay()).toHaveLength(2)
  await claiming.commit()
  expect(await relay()).toHaveLength(1)
})

test('work without a lane is not counted, nor held up by lanes', async () => {
  await fillLane(10_000)
  await database.db.execute(sql`
    insert into outbox (id, workspace_id, queue)
    select uuidv7(), ${uuidOf(ctx.workspaceId)}, 'mail' from generate_series(1, 100)`)
  let count = 0
  await relayWork(database.db, 'one', async (work) => void (count += work.length))
  expect(count).toBe(100)
})
