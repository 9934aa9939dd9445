import { inTransaction } from '@rapport/core/request/context.ts'
import { sendCampaign } from '@rapport/core/campaigns/send-campaign.ts'
import { subscribe } from '@rapport/core/lists/subscribe.ts'
import {
  countRecipients,
  createTestCampaign,
  createTestContact,
  createTestCtx,
  createTestList,
  createTestWebhook,
  createTestWorker,
  readSingleDelivery,
  expireWorkerHeartbeat,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { claimTestDrain } from '@rapport/testing/fixtures/webhook-drain.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startHttpReceiver, startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { shortTimings, silentLog, testWorkerConfig } from '../test/fixtures.ts'
import { startWorker } from './worker.ts'
import { findClaims } from '@rapport/testing/fixtures/claims.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const redis = useForFile(createTestRedis)
const http = useForFile(() => startHttpReceiver())
const smtp = useForFile(() => startSmtpReceiver())
let worker: Awaited<ReturnType<typeof startWorker>> | undefined
beforeEach(() => {
  http.respondWith(() => undefined)
  smtp.decide(() => 'accept')
})
afterEach(async () => {
  await closeWorker()
  await database.pool.query('truncate work, workers')
})

const start = async (env: Record<string, string>) => {
  const config = testWorkerConfig({ DATABASE_URL: database.url, SMTP_URL: smtp.url, ...env })
  worker = await startWorker(config, silentLog, { timings: shortTimings })
}

async function closeWorker() {
  const closing = worker?.close()
  worker = undefined
  await closing
}

/** Creates a contact whose event is delivered to `path`. */
async function createDelivery(path: string) {
  await createTestWebhook(ctx, { url: `${http.url}/${path}` })
  await createTestContact(ctx)
}

const isDone = async () => (await listPendingWork(ctx)).length === 0
const waitUntilDone = () => waitUntil(isDone, { describe: 'all work is done' })
const waitForRequest = (path: string) => http.waitFor(({ url }) => url === `/${path}`, 10_000)
const mailsTo = (name: string) => smtp.mails.filter(({ to }) => to.some((address) => address.startsWith(name)))

async function listWorkerIds(): Promise<string[]> {
  const found = await database.pool.query<{ id: string }>('select id from workers')
  return found.rows.map(({ id }) => id)
}

/** Expects that the closed worker is deregistered and holds no claims. */
async function expectCleanClose() {
  const ids = await listWorkerIds()
  expect(ids).toHaveLength(1)
  await closeWorker()
  expect(await listWorkerIds()).toEqual([])
  for (const id of ids) expect(await findClaims(database.db, id)).toEqual([])
}

describe.each([
  ['Redis', () => ({ REDIS_URL: redis.url })],
  ['PostgreSQL', () => ({})],
])('with the queues in %s, a worker', (name, environment) => {
  test('sends a webhook delivery, a confirmation mail and a campaign', async () => {
    await start(environment())
    await subscribe(ctx, (await createTestList(ctx)).id, { email: `${name}@example.com`, firstName: '', lastName: '' })
    await createDelivery(`all-${name}`)
    const campaign = await createTestCampaign(ctx, { confirmed: 30 })
    await sendCampaign(ctx, campaign.id)
    await waitUntilDone()
    expect(http.requests.filter(({ url }) => url === `/all-${name}`)).toHaveLength(1)
    expect(mailsTo(name)).toHaveLength(1)
    expect(await countRecipients(ctx, campaign.id)).toEqual({ SENT: 30 })
    await expectCleanClose()
  })

  test('delivers for one workspace while the receivers of five others do not respond', async () => {
    const quiet = Promise.withResolvers<void>()
    // The noisy receivers respond only after the quiet workspace's delivery.
    http.respondWith(async ({ url }) => {
      if (url === `/quiet-${name}`) quiet.resolve()
      else await quiet.promise
      return undefined
    })
    const noisy = await Promise.all(Array.from({ length: 5 }, () => createTestCtx(database.db)))
    for (const other of noisy) {
      for (let n = 0; n < 5; n++) await createTestWebhook(other, { url: `${http.url}/noisy-${name}` })
      for (let n = 0; n < 6; n++) await createTestContact(other)
    }
    await start(environment())
    const noise = () => http.requests.filter(({ url }) => url === `/noisy-${name}`).length
    await waitUntil(() => noise() === 5 * 5, {
      describe: 'each webhook has its first request in flight',
      timeoutMs: 8_000,
    })
    await createDelivery(`quiet-${name}`)
    await waitForRequest(`quiet-${name}`)
    for (const one of [ctx, ...noisy]) {
      await waitUntil(async () => (await listPendingWork(one)).length === 0, {
        describe: 'all work is done',
        timeoutMs: 10_000,
      })
    }
    const failed = await database.pool.query(`select from deliveries where status <> 'SUCCEEDED'`)
    expect(failed.rowCount).toBe(0)
  })

  test('that shuts down finishes its active jobs and leaves no claims', async () => {
    const response = Promise.withResolvers<undefined>()
    http.respondWith(() => response.promise)
    smtp.decide(() => ({ delayMs: 100 }))
    await start(environment())
    const campaign = await createTestCampaign(ctx, { confirmed: 100 })
    const before = smtp.mails.length
    await createDelivery(`close-${name}`)
    await waitForRequest(`close-${name}`)
    await sendCampaign(ctx, campaign.id)
    await smtp.waitFor(before + 1)
    const closing = expectCleanClose()
    response.resolve(undefined)
    await closing
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
    const counts = await countRecipients(ctx, campaign.id)
    expect(Object.keys(counts)).toEqual(['SENT'])
    expect(counts['SENT']).toBeLessThan(100)

    smtp.decide(() => 'accept')
    await start(environment())
    await waitUntilDone()
    expect(await countRecipients(ctx, campaign.id)).toEqual({ SENT: 100 })
    expect(smtp.mails).toHaveLength(before + 100)
  })

  test('that shuts down while PostgreSQL is unavailable waits and records the outcomes', async () => {
    http.respondWith(() => ({ delayMs: 300 }))
    smtp.decide(() => ({ delayMs: 300 }))
    const proxy = await startTestProxy(database.url)
    await start({ ...environment(), DATABASE_URL: proxy.url })
    await createDelivery(`outage-${name}`)
    const campaign = await createTestCampaign(ctx, { confirmed: 60 })
    const before = smtp.mails.length
    await sendCampaign(ctx, campaign.id)
    await waitForRequest(`outage-${name}`)
    await smtp.waitFor(before + 1)
    proxy.cut(/[^]/)
    proxy.cutAll()
    const closing = closeWorker()
    const cuts = proxy.cuts
    await waitUntil(() => proxy.cuts > cuts + 3, { describe: 'recording the outcomes was retried' })
    proxy.cut(undefined)
    await closing
    await proxy.close()

    expect(await listWorkerIds()).toEqual([])
    expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
    expect((await countRecipients(ctx, campaign.id))['SENT']).toBe(smtp.mails.length - before)
    smtp.decide(() => 'accept')
    await start(environment())
    await waitUntilDone()
    expect(await countRecipients(ctx, campaign.id)).toEqual({ SENT: 60 })
    expect(new Set(smtp.mails.slice(before).map(({ to }) => to[0])).size).toBe(60)
    expect(smtp.mails).toHaveLength(before + 60)
    expect(http.requests.filter(({ url }) => url === `/outage-${name}`)).toHaveLength(1)
  })

  test('that loses all its PostgreSQL connections reconnects and continues', async () => {
    http.respondWith(() => ({ delayMs: 200 }))
    await start(environment())
    await createDelivery(`cut-${name}`)
    await waitForRequest(`cut-${name}`)
    for (let cut = 0; cut < 3; cut++) {
      await database.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name <> 'rapport test'`,
      )
    }
    await createTestContact(ctx)
    await waitUntilDone()
    expect(http.requests.filter(({ url }) => url === `/cut-${name}`)).toHaveLength(2)
    await expectCleanClose()
  })
})

test('if Redis is flushed with active and waiting jobs, each delivery is sent once', async () => {
  http.respondWith(() => ({ delayMs: 150 }))
  await start({ REDIS_URL: redis.url, WORKER_CONCURRENCY: '2' })
  await createTestWebhook(ctx, { url: `${http.url}/flushed` })
  for (let contact = 0; contact < 6; contact++) await createTestContact(ctx)
  await waitForRequest('flushed')
  await redis.flush()
  await waitUntilDone()
  expect(http.requests.filter(({ url }) => url === '/flushed')).toHaveLength(6)
})

test('a worker recovers the claims of a crashed worker and its own orphaned claims', async () => {
  await createTestWebhook(ctx, { url: `${http.url}/crashed` })
  await createTestContact(ctx)
  const crashed = await createTestWorker(database.db)
  await claimTestDrain(ctx, { workerId: crashed })
  await expireWorkerHeartbeat(database.db, crashed)
  await start({})
  const [own = ''] = (await listWorkerIds()).filter((id) => id !== crashed)
  const other = await createTestCtx(database.db)
  await createTestWebhook(other, { url: `${http.url}/lost` })
  // In one transaction, so that no job of the worker claims the backlog first.
  await inTransaction(other, async (other) => {
    await createTestContact(other)
    await claimTestDrain(other, { workerId: own })
  })
  const areInterrupted = async () => {
    const deliveries = await Promise.all([readSingleDelivery(ctx), readSingleDelivery(other)])
    return deliveries.every(({ status }) => status === 'INTERRUPTED')
  }
  await waitUntil(areInterrupted, { describe: 'both deliveries are INTERRUPTED' })
  expect(http.requests.filter(({ url }) => ['/crashed', '/lost'].includes(url))).toEqual([])
  expect(await listWorkerIds()).toEqual([own])
})

test('a worker that cannot reach the database fails to start', async () => {
  await start({})
  const config = testWorkerConfig({ DATABASE_URL: 'postgres://127.0.0.1:1/none' })
  await expect(startWorker(config, silentLog)).rejects.toThrow()
})
