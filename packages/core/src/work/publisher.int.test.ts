import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
} from '@rapport/testing/fixtures/factories.ts'
import { claimTestDrain } from '@rapport/testing/fixtures/webhook-drain.ts'
import { useForTest, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openDatabase } from '../db/client.ts'
import { deliveries } from '../db/schema/index.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { recoverOrphanedClaims } from '../operations/recovery/recover-claims.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { redeliver, testWebhook } from '../webhooks/delivery-log.ts'
import { claimWork, prepareClaim, releaseClaim } from './claims.ts'
import { enqueue } from './enqueue.ts'
import { kindsOfWork, queueOfJob, type WorkKind, workKinds } from './kinds.ts'
import { findPublishableWork } from './publish.ts'
import { attachPublisher } from './publisher.ts'
import { drainId, drainJobOf, type WorkJob } from './queues.ts'

const database = useTestDatabase()
let published: WorkJob[]
let ctx: Ctx
beforeEach(async () => {
  await database.pool.query('truncate workspaces cascade')
  ctx = await createTestCtx(database.db)
  published = []
  attachPublisher(database.db, { publish: (job) => void published.push(job), close: async () => {} })
})

/** Enqueues work without a subject. Returns its UUID. */
async function enqueueOne(on: Ctx = ctx, kind: WorkKind = 'MAIL'): Promise<string> {
  const id = newId('mai')
  await enqueue(on, kind, id)
  return uuidOf(id)
}

/** Returns what was published since the last call. */
const takePublished = () => published.splice(0).map((job) => `${queueOfJob(job)} ${job.id}`)
const drainOfWorkspace = `webhooks ${drainId}`
const find = async () => (await findPublishableWork(database.db)).map(({ id }) => id)

describe('a commit publishes', () => {
  test('enqueued work with its kind, workspace and request, written as published', async () => {
    const uuid = await enqueueOne({ ...ctx, traceparent: 'the trace' }, 'IMPORT')
    const { workspaceId, requestId } = ctx
    expect(published).toEqual([{ workspaceId, kind: 'IMPORT', id: uuid, requestId, traceparent: 'the trace' }])
    expect(await find()).toEqual([])
  })

  test('the drain of the workspace with new deliveries, once', async () => {
    await createTestWebhook(ctx)
    await createTestWebhook(ctx, { eventTypes: ['*'] })
    takePublished()
    await inTransaction(ctx, async (ctx) => {
      for (let count = 0; count < 150; count++) await createTestContact(ctx)
    })
    expect(published).toEqual([drainJobOf(ctx.workspaceId)])
  })

  test('nothing if no webhook subscribes, also without a transaction', async () => {
    await createTestContact(ctx)
    expect(takePublished()).toEqual([])
    await createTestWebhook(ctx)
    await createTestContact(ctx)
    expect(takePublished()).toEqual([drainOfWorkspace])
  })

  test('after it, not before', async () => {
    const { id } = await createTestWebhook(ctx)
    const uuid = await inTransaction(ctx, async (ctx) => {
      await createTestContact(ctx)
      const uuid = await enqueueOne(ctx)
      await inTransaction(ctx, (ctx) => testWebhook(ctx, id))
      expect(takePublished()).toEqual([])
      return uuid
    })
    expect(takePublished().toSorted()).toEqual([`mail ${uuid}`, drainOfWorkspace].toSorted())
  })

  test('redeliveries, recovered drains and requeued work', async () => {
    const { id } = await createTestWebhook(ctx)
    const { id: deliveryId } = await testWebhook(ctx, id)
    await database.db.update(deliveries).set({ status: 'FAILED' })
    takePublished()
    await redeliver(ctx, id, deliveryId)
    expect(takePublished()).toEqual([drainOfWorkspace])
    const workerId = await createTestWorker(database.db)
    await claimTestDrain(ctx, { workerId })
    await expireWorkerHeartbeat(database.db, workerId)
    await recoverOrphanedClaims(database.db)
    expect(takePublished()).toEqual([drainOfWorkspace])

    const uuid = await enqueueOne(ctx, 'IMPORT')
    const claim = prepareClaim({ workspaceId: ctx.workspaceId, kind: 'IMPORT', id: uuid, workerId })
    await claimWork(ctx, claim)
    takePublished()
    await releaseClaim(ctx, claim, 'requeue')
    expect(published).toMatchObject([{ id: uuid, kind: 'IMPORT', requestId: ctx.requestId }])
    expect(await find()).toEqual([])
    await releaseClaim(ctx, claim, 'requeue')
    expect(published).toHaveLength(1)
  })
})

describe('a rollback publishes nothing', () => {
  const fail = async (ctx: Ctx) => {
    await createTestContact(ctx)
    await enqueueOne(ctx)
    throw new Error('roll back')
  }

  test('of a transaction, not even after a later one', async () => {
    const { id } = await createTestWebhook(ctx)
    for (let count = 0; count < 20; count++) {
      await expect(inTransaction(ctx, fail)).rejects.toThrow('roll back')
      await inTransaction(ctx, (ctx) => ctx.db.execute(sql`select 1`))
    }
    const failing = inTransaction(ctx, async (ctx) => {
      await createTestContact(ctx)
      await ctx.db.execute(sql`select 1 / 0`).catch(() => {})
    })
    await expect(failing).rejects.toThrow('was rolled back')
    expect(takePublished()).toEqual([])
    await testWebhook(ctx, id)
    expect(takePublished()).toEqual([drainOfWorkspace])
  })

  test('of a savepoint, and the rest of the transaction is published', async () => {
    await createTestWebhook(ctx)
    const uuid = await inTransaction(ctx, async (ctx) => {
      const uuid = await enqueueOne(ctx)
      await expect(inTransaction(ctx, fail)).rejects.toThrow('roll back')
      return uuid
    })
    expect(takePublished()).toEqual([`mail ${uuid}`])
  })
})

describe('workspaces take turns', () => {
  test.each(workKinds.filter((kind) => kindsOfWork[kind].published > 0))(
    'of %s, a workspace publishes at most as many jobs as the poll would',
    async (kind) => {
      const { published: limit } = kindsOfWork[kind]
      const uuids: string[] = []
      for (let count = 0; count < limit + 3; count++) uuids.push(await enqueueOne(ctx, kind))
      expect(published.map(({ id }) => id)).toEqual(uuids.slice(0, limit))
      // The limit is that of the poll.
      expect(await find()).toEqual([])
      published = []
      await enqueueOne(await createTestCtx(database.db), kind)
      expect(published).toHaveLength(1)
      // Work that waits for capacity comes before new work.
      await database.pool.query('delete from work where id = any($1)', [uuids.slice(0, 3)])
      await enqueueOne(ctx, kind)
      expect(published).toHaveLength(1)
    },
  )

  test('of the batches of a campaign, the first are published, the rest by the poll', async () => {
    const { batches } = await startTestCampaign(ctx, 30 * 200)
    const ofBatches = published.filter(({ kind }) => kind === 'CAMPAIGN_BATCH').map(({ id }) => id)
    expect(batches).toHaveLength(30)
    expect(ofBatches).toHaveLength(20)
    expect(await find()).toEqual([])
    await database.pool.query('delete from work where id = any($1)', [ofBatches])
    const rest = await find()
    expect([...ofBatches, ...rest].toSorted()).toEqual(batches.toSorted())
  })

  test('delayed work takes no capacity', async () => {
    for (let count = 0; count < 4; count++) await enqueueOne(ctx, 'IMPORT')
    await database.pool.query(`update work set due_at = now() + interval '10 minutes'`)
    takePublished()
    const uuid = await enqueueOne(ctx, 'IMPORT')
    expect(takePublished()).toEqual([`imports ${uuid}`])
  })
})

describe('without a publisher, as in the CLI', () => {
  const other = useForTest(() =>
    openDatabase(database.url, { applicationName: 'rapport test', maxConnections: 2, onError: () => {} }),
  )

  test('work is left to the next poll, and later work waits behind it', async () => {
    const on = { ...ctx, db: other.db }
    const uuids = [await enqueueOne(on, 'IMPORT'), await inTransaction(on, (on) => enqueueOne(on, 'IMPORT'))]
    for (let count = 0; count < 2; count++) uuids.push(await enqueueOne(on, 'IMPORT'))
    await enqueueOne(ctx, 'IMPORT')
    expect(published).toEqual([])
    expect(await find()).toEqual(uuids)
  })
})
