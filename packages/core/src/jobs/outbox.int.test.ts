import { randomUUID } from 'node:crypto'
import { eq, sql } from 'drizzle-orm'
import pg from 'pg'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { type Ctx, inTransaction } from '../request/context.ts'
import { idOf } from '../kernel/ids.ts'
import {
  enqueue,
  finishWork,
  forgetOtherEpochs,
  recheckOldWork,
  type RelayedWork,
  relayWork,
  requeueWork,
} from './outbox.ts'
import { outbox } from '../db/schema/index.ts'
import { createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeAll(async () => {
  ctx = await createTestCtx(database.db)
})
beforeEach(() => database.db.delete(outbox))

/** Work of no further meaning. Answers its UUIDs. */
async function enqueueSome(count: number, on: Ctx = ctx): Promise<string[]> {
  const uuids = Array.from({ length: count }, () => randomUUID())
  for (const uuid of uuids) await enqueue(on, 'mail', idOf('mai', uuid))
  return uuids
}

async function relay(epoch: string): Promise<RelayedWork[]> {
  const taken: RelayedWork[] = []
  await relayWork(database.db, epoch, async (work) => void taken.push(...work))
  return taken
}

const idsOf = (work: RelayedWork[]) => work.map(({ data }) => data.id).toSorted()
const jobIdsOf = (work: RelayedWork[]) => work.map(({ jobId }) => jobId).toSorted()

test('work that was rolled back never appears', async () => {
  const rolledBack = inTransaction(ctx, async (ctx) => {
    await enqueueSome(1, ctx)
    throw new Error('changed my mind')
  })
  await expect(rolledBack).rejects.toThrow('changed my mind')
  const kept = await inTransaction(ctx, async (ctx) => {
    const outer = await enqueueSome(1, ctx)
    const inner = inTransaction(ctx, async (ctx) => {
      await enqueueSome(1, ctx)
      throw new Error('this part only')
    })
    await expect(inner).rejects.toThrow('this part only')
    return outer
  })
  expect(idsOf(await relay('one'))).toEqual(kept)
})

test('work is invisible to the relay until its transaction commits', async () => {
  await inTransaction(ctx, async (ctx) => {
    await enqueueSome(1, ctx)
    expect(await relay('one')).toEqual([])
  })
  expect(await relay('one')).toHaveLength(1)
})

test('two relays at once share the work without overlap', async () => {
  const uuids = await database.db.execute<{ id: string }>(sql`
    insert into outbox (id, workspace_id, queue)
    select gen_random_uuid(), w.id, 'mail' from workspaces w cross join generate_series(1, 800) returning id`)
  const bothHold = Promise.withResolvers<void>()
  const taken: RelayedWork[][] = []
  const handOver = async (work: RelayedWork[]) => {
    taken.push(work)
    if (taken.length === 2) bothHold.resolve()
    await bothHold.promise
  }
  await Promise.all([relayWork(database.db, 'one', handOver), relayWork(database.db, 'one', handOver)])
  expect(taken).toHaveLength(2)
  expect(idsOf(taken.flat())).toEqual(uuids.rows.map((row) => row.id).toSorted())
  expect(await relay('one')).toEqual([])
})

test('a hand-over that throws leaves the work waiting, under the same job id, so that half a hand-over is not two', async () => {
  await enqueueSome(3)
  const offered: RelayedWork[] = []
  const failing = relayWork(database.db, 'one', async (work) => {
    offered.push(...work)
    throw new Error('the store is full')
  })
  await expect(failing).rejects.toThrow('the store is full')
  expect(jobIdsOf(await relay('one'))).toEqual(jobIdsOf(offered))
})

test('what was handed over in another life of the store is handed over again, under a fresh job id', async () => {
  await enqueueSome(2)
  const first = await relay('one')
  await forgetOtherEpochs(database.db, 'one')
  expect(await relay('one')).toEqual([])
  for (const epoch of ['two', 'a life whose name sorts first']) {
    await forgetOtherEpochs(database.db, epoch)
    const again = await relay(epoch)
    expect(idsOf(again)).toEqual(idsOf(first))
    expect(jobIdsOf(again)).not.toEqual(jobIdsOf(first))
  }
})

test('what a slow relay commits under the old life, after the change was seen, is given again as well', async () => {
  const [uuid] = await enqueueSome(1)
  const release = Promise.withResolvers<void>()
  const holding = Promise.withResolvers<void>()
  const slow = relayWork(database.db, 'old life', async () => {
    holding.resolve()
    await release.promise
  })
  await holding.promise
  await forgetOtherEpochs(database.db, 'new life')
  expect(await relay('new life')).toEqual([])
  release.resolve()
  await slow
  await forgetOtherEpochs(database.db, 'new life')
  expect(idsOf(await relay('new life'))).toEqual([uuid])
})

test('work that is requeued comes again, and finished work never', async () => {
  const [dropped = '', kept = ''] = await enqueueSome(2)
  await relay('one')
  await requeueWork(database.db, [dropped, kept])
  await finishWork(database.db, [dropped])
  const again = await relay('one')
  expect(idsOf(again)).toEqual([kept])
  expect(again[0]?.jobId).toBe(`${kept}-2`)
})

test('old work that the queue has forgotten goes back into waiting; what it knows, and what is young, does not', async () => {
  const [forgotten = '', known = ''] = await enqueueSome(3)
  await relay('one')
  await database.db.execute(sql`
    update outbox set relayed_at = now() - interval '11 minutes' where id in (${forgotten}, ${known})`)
  const asked: string[] = []
  const isKnown = async ({ jobId }: RelayedWork) => {
    asked.push(jobId)
    return jobId === `${known}-1`
  }
  await recheckOldWork(database.db, isKnown)
  expect(asked.toSorted()).toEqual([`${forgotten}-1`, `${known}-1`].toSorted())
  expect(idsOf(await relay('one'))).toEqual([forgotten])
  await recheckOldWork(database.db, () => Promise.reject(new Error('asked again too soon')))
  expect(await relay('one')).toEqual([])
})

test('a recheck does not undo a hand-over that happened while it asked', async () => {
  const [uuid = ''] = await enqueueSome(1)
  await relay('one')
  await database.db.update(outbox).set({ relayedAt: sql`now() - interval '11 minutes'` })
  await recheckOldWork(database.db, async () => {
    await requeueWork(database.db, [uuid])
    await relay('one')
    return false
  })
  const [row] = await database.db.select().from(outbox).where(eq(outbox.id, uuid))
  expect(row).toMatchObject({ relayedEpoch: 'one', relays: 2 })
})

test('listeners are notified of work once it is committed, and of a set of work too', async () => {
  const client = new pg.Client({ connectionString: database.url })
  let notifications = 0
  client.on('notification', () => (notifications += 1))
  await client.connect()
  await client.query('listen rapport_outbox')
  await inTransaction(ctx, async (ctx) => {
    await enqueueSome(1, ctx)
    await client.query('select 1')
    expect(notifications).toBe(0)
  })
  await waitUntil(() => notifications === 1, { describe: 'the commit has notified' })
  await requeueWork(database.db, [randomUUID()])
  await waitUntil(() => notifications === 2, { describe: 'the requeueing has notified' })
  await client.end()
})
