import { version } from '@rapport/core/runtime/version.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { createTestDatabase } from '@rapport/testing/postgres/database.ts'
import { createTestContact, createTestCtx, createTestWebhook } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { createTestRedis } from '@rapport/testing/redis/redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { type Logger, pino } from 'pino'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { shortTimings, silentLog, testWorkerConfig } from '../../test/fixtures.ts'
import { startWorker } from '../worker.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeAll(async () => {
  ctx = await createTestCtx(database.db)
})

interface StartOptions {
  log?: Logger
  now?: () => number
}

async function start(env: Record<string, string> = {}, { log = silentLog, now }: StartOptions = {}) {
  const port = await findFreePort()
  const config = testWorkerConfig({ DATABASE_URL: database.url, WORKER_PORT: String(port), ...env })
  const worker = await startWorker(config, log, { timings: shortTimings, now })
  let closing: Promise<void> | undefined
  const close = () => (closing ??= worker.close())
  onTestFinished(close)
  async function get(path: string, init: { method?: string; headers?: Record<string, string> } = {}) {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      ...init,
      headers: { connection: 'close', ...init.headers },
    })
    const text = await response.text()
    return { status: response.status, type: response.headers.get('content-type'), text }
  }
  return { close, get, port }
}

const readiness = (text: string) => JSON.parse(text) as object

test('a running worker is healthy and ready', async () => {
  const worker = await start()
  expect(await worker.get('/health')).toMatchObject({ status: 200, text: JSON.stringify({ status: 'ok', version }) })
  const { status, text } = await worker.get('/ready')
  expect([status, readiness(text)]).toEqual([
    200,
    {
      status: 'ready',
      parts: { database: 'up', redis: 'not used', server: 'up' },
      problem: null,
      clock: { status: 'ok', offsetMs: expect.any(Number) as unknown },
      version,
    },
  ])
  expect((await worker.get('/health', { method: 'POST' })).status).toBe(404)
  expect(await worker.get('/other')).toMatchObject({ status: 404, type: 'application/json; charset=utf-8' })
})

test('a wrong clock is logged at startup and shown in /ready, which stays 200', async () => {
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const worker = await start({}, { log, now: () => Date.now() + 3_600_000 })
  const clockLines = () => lines.filter((line) => line.includes('The clock of this process is'))
  await waitUntil(() => clockLines().length > 0, { describe: 'the clock is logged' })
  const { status, text } = await worker.get('/ready')
  expect([status, readiness(text)]).toMatchObject([200, { status: 'ready', clock: { status: 'off' } }])
  expect(clockLines()).toEqual([
    expect.stringMatching(/\d+\.\d s ahead of the database's; ids and timestamps will be wrong/),
  ])
})

test('a port that is in use fails the startup, which closes what it has opened', async () => {
  const { port } = await start()
  const config = testWorkerConfig({ DATABASE_URL: `${database.url}?application_name=taken`, WORKER_PORT: String(port) })
  await expect(startWorker(config, silentLog)).rejects.toThrow('EADDRINUSE')
  const connections = `select from pg_stat_activity where application_name = 'taken'`
  await waitUntil(async () => (await database.pool.query(connections)).rowCount === 0, {
    describe: 'no connection is left',
  })
})

test('/ready is 503 and names the cause: database down or migrations pending', async () => {
  const redis = await createTestRedis()
  onTestFinished(() => redis.close())
  const proxy = await startTestProxy(database.url)
  onTestFinished(() => proxy.close())
  const worker = await start({ DATABASE_URL: proxy.url, REDIS_URL: redis.url })
  expect((await worker.get('/ready')).status).toBe(200)
  proxy.cut(/./)
  const { status, text } = await worker.get('/ready')
  expect([status, readiness(text)]).toEqual([
    503,
    {
      status: 'unavailable',
      parts: { database: 'down', redis: 'up', server: 'up' },
      problem: expect.any(String) as unknown,
      clock: { status: 'unknown', offsetMs: null },
      version,
    },
  ])
  proxy.cut(undefined)
  await database.pool.query('update drizzle.__drizzle_migrations set created_at = created_at - 1')
  expect(readiness((await worker.get('/ready')).text)).toMatchObject({ parts: { database: 'migrations pending' } })
  await database.pool.query('update drizzle.__drizzle_migrations set created_at = created_at + 1')
})

test('/ready is 503 while the worker shuts down with an active job', async () => {
  const response = Promise.withResolvers<undefined>()
  const receiver = await startHttpReceiver(() => response.promise)
  onTestFinished(() => receiver.close())
  await createTestWebhook(ctx, { url: receiver.url })
  const worker = await start()
  await createTestContact(ctx)
  await receiver.waitFor(1)
  const closed = worker.close()
  const { status, text } = await worker.get('/ready')
  expect([status, readiness(text)]).toMatchObject([503, { parts: { server: 'shutting down' } }])
  response.resolve(undefined)
  await closed
})

test('/metrics requires METRICS_TOKEN if it is set', async () => {
  const worker = await start({ METRICS_TOKEN: 'known-to-prometheus-alone' })
  expect((await worker.get('/metrics')).status).toBe(401)
  const headers = { authorization: 'Bearer wrong-token' }
  expect((await worker.get('/metrics', { headers })).status).toBe(401)
  headers.authorization = 'Bearer known-to-prometheus-alone'
  expect(await worker.get('/metrics', { headers })).toMatchObject({
    status: 200,
    type: expect.stringMatching(/^text\/plain/),
  })
})

test.each(['redis', 'postgres'])(
  '/metrics counts deliveries, jobs and published work, with the queues in %s',
  async (backend) => {
    const redis = backend === 'redis' ? await createTestRedis() : undefined
    onTestFinished(async () => redis?.close())
    const own = await createTestDatabase()
    onTestFinished(() => own.close())
    const ctx = await createTestCtx(own.db)
    const receiver = await startHttpReceiver(({ url }) => ({ status: url === '/bad' ? 500 : 200 }))
    onTestFinished(() => receiver.close())
    for (const path of ['/good', '/bad']) await createTestWebhook(ctx, { url: receiver.url + path })
    const worker = await start({ DATABASE_URL: own.url, ...(redis && { REDIS_URL: redis.url }) })
    await createTestContact(ctx)
    const lines = async () => (await worker.get('/metrics')).text.split('\n')
    // The workspace may get one more job, which finds no backlog.
    const isDone = /^rapport_job_duration_seconds_count\{queue="webhooks",outcome="done"\} [1-9]/m
    await waitUntil(
      async () => {
        const text = (await lines()).join('\n')
        return isDone.test(text) && text.includes('\nrapport_delivery_duration_seconds_count 2\n')
      },
      { describe: 'the job is done and counted', timeoutMs: 20_000 },
    )
    expect(await lines()).toEqual(
      expect.arrayContaining([
        'rapport_deliveries_total{outcome="succeeded"} 1',
        'rapport_deliveries_total{outcome="failed"} 1',
        'rapport_deliveries_total{outcome="interrupted"} 0',
        'rapport_delivery_duration_seconds_count 2',
        'rapport_mails_total{kind="CAMPAIGN",outcome="sent"} 0',
        'rapport_mails_total{kind="CAMPAIGN",outcome="withdrawn"} 0',
        expect.stringMatching(/^rapport_jobs_published_total\{queue="webhooks"\} [1-9]/),
        'rapport_queues_up 1',
        'rapport_queue_jobs{queue="webhooks",state="waiting"} 0',
        'rapport_queue_oldest_job_seconds{queue="mail"} 0',
        'rapport_database_up 1',
      ]),
    )
  },
)
