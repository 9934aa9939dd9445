import {
  createTestContact,
  createTestWebhook,
  readSingleDelivery,
  testSettings,
} from '@rapport/testing/fixtures/factories.ts'
import { requireSecretKey } from '@rapport/core/installation/key-check.ts'
import { useForFile, useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startProcess } from '@rapport/testing/processes/processes.ts'
import { startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { createUnreliableRedis } from '@rapport/testing/redis/unreliable-redis.ts'
import { beforeEach, expect, test } from 'vitest'
import { startWorkerProcess } from '../test/worker-processes.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const redis = useForFile(createUnreliableRedis)
const receiver = useForFile(() => startHttpReceiver())
beforeEach(async () => {
  await createTestWebhook(ctx, { url: receiver.url })
})

const script = 'apps/worker/src/main.ts'
const startMain = (env: Record<string, string> = {}) =>
  startWorkerProcess({
    script,
    env: { DATABASE_URL: database.url, REDIS_URL: redis.url, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', ...env },
  })

test('SIGTERM while Redis is unavailable: finishes the active job and exits with 0', async () => {
  receiver.respondWith(() => ({ delayMs: 1_000 }))
  const worker = await startMain()
  const before = receiver.requests.length
  await createTestContact(ctx)
  await receiver.waitFor(before + 1)
  await redis.stop()
  worker.kill('SIGTERM')
  expect(await worker.exited).toEqual({ code: 0, signal: null })
  expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'SUCCEEDED' })
  await redis.start()
})

test('a second signal exits immediately and leaves the active job claimed', async () => {
  receiver.respondWith(() => ({ fault: 'hang' }))
  const worker = await startMain()
  const before = receiver.requests.length
  await createTestContact(ctx)
  await receiver.waitFor(before + 1)
  worker.kill('SIGTERM')
  worker.kill('SIGINT')
  expect(await worker.exited).toEqual({ code: 1, signal: null })
  const { uuid, status } = await readSingleDelivery(ctx)
  const claims = await database.pool.query('select in_flight from work where worker_id is not null')
  expect([status, claims.rows]).toEqual(['PENDING', [{ in_flight: [uuid] }]])
})

test('a wrong SECRET_KEY exits with code 78, names the variables and sends nothing', async () => {
  await requireSecretKey(database.db, testSettings.keys)
  const before = receiver.requests.length
  await createTestContact(ctx)
  const wrong = { SECRET_KEY: 'dGhlIGtleSBvZiBhbm90aGVyIGluc3RhbGxhdGlvbg==' }
  await expect(startMain({ ...wrong, SECRET_KEY_PREVIOUS: wrong.SECRET_KEY })).rejects.toThrow(
    /code 78[^]*\n {2}SECRET_KEY: [^]*\n {2}SECRET_KEY_PREVIOUS: /,
  )
  expect(receiver.requests.length).toBe(before)
  expect(await readSingleDelivery(ctx)).toMatchObject({ status: 'PENDING', error: null })
})

test('an invalid environment exits with code 78 and names every variable', async () => {
  const starting = startProcess({ script, readyPattern: /ready/, env: { DATABASE_URL: 'nonsense' } })
  await expect(starting).rejects.toThrow(/code 78[^]*DATABASE_URL[^]*PUBLIC_URL[^]*SECRET_KEY[^]*SMTP_URL/)
})
