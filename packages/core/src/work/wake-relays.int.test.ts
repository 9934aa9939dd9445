import { sql } from 'drizzle-orm'
import pg from 'pg'
import { beforeEach, expect, test } from 'vitest'
import {
  createTestContact,
  createTestCtx,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
} from '@rapport/testing/fixtures/factories.ts'
import { claimTestDrain } from '@rapport/testing/fixtures/webhook-drain.ts'
import { useForTest, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { deliveries } from '../db/schema/index.ts'
import { idOf, newId, uuidOf } from '../kernel/ids.ts'
import { recoverOrphanedClaims } from '../operations/recovery/recover-claims.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { redeliver, testWebhook } from '../webhooks/delivery-log.ts'
import { enqueue } from './enqueue.ts'
import { requeueWork } from './publish.ts'
import { workChannel } from './queues.ts'
import { parseNotification, type NotificationSubject, publishDrain, wakeForWork } from './wake-relays.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

const listener = useForTest(async () => {
  const client = new pg.Client({ connectionString: database.url, application_name: 'rapport test' })
  const subjects: NotificationSubject[] = []
  client.on('notification', ({ payload = '' }) => subjects.push(parseNotification(payload)))
  await client.connect()
  await client.query(`listen ${workChannel}`)
  return { subjects, close: () => client.end() }
})

/** Reads the notifications of all commits so far: they arrive in order, so it sends a marker and waits for it. */
async function readSubjects(): Promise<NotificationSubject[]> {
  const marker = newId('wsp')
  const isMarker = (subject: NotificationSubject) => subject !== 'work' && subject.workspaceId === uuidOf(marker)
  publishDrain(database.db, marker)
  await waitUntil(() => listener.subjects.some(isMarker), { describe: 'the last notification has arrived' })
  return listener.subjects.splice(0).filter((subject) => !isMarker(subject))
}

const drainOf = (on = ctx): NotificationSubject => ({ workspaceId: uuidOf(on.workspaceId) })
const inOrder = (subjects: NotificationSubject[]) => subjects.map((subject) => JSON.stringify(subject)).toSorted()

test('a commit with new deliveries of several webhooks sends one notification', async () => {
  for (const type of ['contact.created', '*', 'deal.won'] as const) await createTestWebhook(ctx, { eventTypes: [type] })
  await readSubjects()
  await inTransaction(ctx, async (ctx) => {
    for (let count = 0; count < 150; count++) await createTestContact(ctx)
  })
  expect(await readSubjects()).toEqual([drainOf()])
})

test('a create without a transaction notifies only if a webhook subscribes', async () => {
  await createTestContact(ctx)
  expect(await readSubjects()).toEqual([])
  await createTestWebhook(ctx)
  await createTestContact(ctx)
  expect(await readSubjects()).toEqual([drainOf()])
})

test('a notification is sent after the commit, not before', async () => {
  const { id } = await createTestWebhook(ctx)
  await inTransaction(ctx, async (ctx) => {
    await createTestContact(ctx)
    await enqueue(ctx, 'MAIL', idOf('mai', crypto.randomUUID()))
    await inTransaction(ctx, (ctx) => testWebhook(ctx, id))
    expect(await readSubjects()).toEqual([])
  })
  expect(inOrder(await readSubjects())).toEqual(inOrder(['work', drainOf()]))
})

test('a rolled-back transaction sends no notification, not even a later one', async () => {
  const { id } = await createTestWebhook(ctx)
  for (let count = 0; count < 20; count++) {
    const rolledBack = inTransaction(ctx, async (ctx) => {
      await createTestContact(ctx)
      wakeForWork(ctx.db)
      throw new Error('roll back')
    })
    await expect(rolledBack).rejects.toThrow('roll back')
    await inTransaction(ctx, (ctx) => ctx.db.execute(sql`select 1`))
  }
  expect(await readSubjects()).toEqual([])
  const failing = inTransaction(ctx, async (ctx) => {
    await createTestContact(ctx)
    await ctx.db.execute(sql`select 1 / 0`).catch(() => {})
  })
  await expect(failing).rejects.toThrow('was rolled back')
  expect(await readSubjects()).toEqual([])
  await testWebhook(ctx, id)
  expect(await readSubjects()).toEqual([drainOf()])
})

test('requeued work, a redelivery and a recovered claim send notifications', async () => {
  const { id } = await createTestWebhook(ctx)
  await requeueWork(ctx, [crypto.randomUUID()])
  expect(await readSubjects()).toEqual(['work'])
  const { id: deliveryId } = await testWebhook(ctx, id)
  await database.db.update(deliveries).set({ status: 'FAILED' })
  await readSubjects()
  await redeliver(ctx, id, deliveryId)
  expect(await readSubjects()).toEqual([drainOf()])
  const workerId = await createTestWorker(database.db)
  await claimTestDrain(ctx, { workerId })
  await expireWorkerHeartbeat(database.db, workerId)
  await recoverOrphanedClaims(database.db)
  expect(await readSubjects()).toEqual([drainOf()])
})
