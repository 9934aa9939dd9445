import type { Ctx } from '@rapport/core/context.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/core/testing/database.ts'
import {
  createTestContact,
  createTestCtx,
  createTestWebhook,
  readOnlyDelivery,
  testSettings,
} from '@rapport/core/testing/factories.ts'
import { startProcess } from '@rapport/core/testing/processes.ts'
import { type HttpReceiver, startHttpReceiver } from '@rapport/core/testing/receivers.ts'
import { createTestRedis, type TestRedis } from '@rapport/core/testing/redis.ts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { nobody } from './testing.ts'

let database: TestDatabase
let redis: TestRedis
let receiver: HttpReceiver
let ctx: Ctx
beforeAll(async () => {
  ;[database, redis, receiver] = await Promise.all([createTestDatabase(), createTestRedis(), startHttpReceiver()])
})
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  await createTestWebhook(ctx, { url: receiver.url })
})
afterAll(async () => {
  await Promise.all([receiver.close(), redis.close()])
  await database.close()
})

const script = 'apps/worker/src/main.ts'
const startMain = () =>
  startProcess({
    script,
    readyPattern: /the worker is ready/,
    env: {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      PUBLIC_URL: testSettings.publicUrl,
      SECRET_KEY: 'a secret that is known to every test',
      MAIL_FROM: testSettings.mailFrom,
      SMTP_URL: nobody,
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    },
  })

test('told to stop with a job in hand and Redis away, the worker finishes, records and exits well, soon', async () => {
  receiver.answer(() => ({ delayMs: 1_000 }))
  const worker = await startMain()
  const before = receiver.requests.length
  await createTestContact(ctx)
  await receiver.waitFor(before + 1)
  await redis.stop()
  worker.kill('SIGTERM')
  const startedAt = performance.now()
  expect(await worker.exited).toEqual({ code: 0, signal: null })
  expect(performance.now() - startedAt).toBeLessThan(10_000)
  expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
  await redis.start()
})

test('told to stop twice, the worker does not wait for what it has in hand', async () => {
  receiver.answer(() => ({ instead: 'hang' }))
  const worker = await startMain()
  const before = receiver.requests.length
  await createTestContact(ctx)
  await receiver.waitFor(before + 1)
  worker.kill('SIGTERM')
  worker.kill('SIGINT')
  const startedAt = performance.now()
  expect(await worker.exited).toEqual({ code: 1, signal: null })
  expect(performance.now() - startedAt).toBeLessThan(5_000)
  expect(await readOnlyDelivery(ctx)).toMatchObject({ status: 'SENDING' })
})

test('an environment that cannot be used is told, by every variable, with code 78', async () => {
  const starting = startProcess({ script, readyPattern: /ready/, env: { DATABASE_URL: 'nonsense' } })
  await expect(starting).rejects.toThrow(/code 78[^]*DATABASE_URL[^]*PUBLIC_URL[^]*SECRET_KEY[^]*SMTP_URL/)
})
