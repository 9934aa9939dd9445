import { openDatabase } from '@rapport/core/db/client.ts'
import { createEmptyDatabase, createTestDatabase, openTransaction } from '@rapport/testing/postgres/database.ts'
import { findFreePort } from '@rapport/embedded-postgres/free-port.ts'
import { startTestProxy } from '@rapport/testing/network/proxy.ts'
import { createUnreliableRedis } from '@rapport/testing/redis/unreliable-redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { version } from '@rapport/core/runtime/version.ts'
import { expect, onTestFinished, test } from 'vitest'
import { openRedis } from '../http/rate-limit/redis-connection.ts'
import { expectError, freshEmail, operationsOf, startTestApi } from '../../test/testing.ts'

async function start(options: Parameters<typeof startTestApi>[0] = {}) {
  const api = await startTestApi(options)
  onTestFinished(() => api.close())
  return api
}

/** Starts the API with the database at this URL. */
function startOn(url: string) {
  const database = openDatabase(url, { applicationName: 'rapport test', maxConnections: 5, onError: () => {} })
  return start({ database: { ...database, url } })
}

test('with a database the API is healthy and ready', async () => {
  const api = await start()
  expect(await api.call('GET', '/health')).toMatchObject({
    status: 200,
    text: JSON.stringify({ status: 'ok', version }),
  })
  const ready = await api.call('GET', '/ready')
  expect(ready.status).toBe(200)
  expect(ready.body).toEqual({
    status: 'ready',
    parts: { database: 'up', redis: 'not used', server: 'up' },
    problem: null,
    clock: { status: 'ok', offsetMs: expect.any(Number) as unknown },
    version,
  })
})

test('a wrong clock is reported and logged, and the API stays ready', async () => {
  const api = await start({ now: () => Date.now() + 3_600_000, environment: { LOG_LEVEL: 'warn' } })
  const ready = await api.call('GET', '/ready')
  expect(ready).toMatchObject({ status: 200, body: { status: 'ready', clock: { status: 'off' } } })
  const { offsetMs } = ready.body['clock'] as { offsetMs: number }
  expect(offsetMs).toBeGreaterThan(5_000)
  expect(await api.call('GET', '/ready')).toMatchObject({ status: 200 })
  const lines = api.takeLog()
  expect(lines).toEqual([expect.stringMatching(/The clock of this process is \d+\.\d s ahead of the database's; ids/)])
})

test('a wrong clock is logged when the API starts to listen', async () => {
  const api = await start({ now: () => Date.now() - 3_600_000, environment: { LOG_LEVEL: 'warn' } })
  await api.listen()
  const logged = await waitUntil(() => api.takeLog().at(0), { describe: 'the clock is logged' })
  expect(logged).toMatch(/The clock of this process is \d+\.\d s behind the database's/)
})

test('without PostgreSQL the API is not ready and returns 503 with retry-after', async () => {
  const api = await startOn(`postgres://postgres@127.0.0.1:${await findFreePort()}/nowhere`)
  expect(await api.call('GET', '/health')).toMatchObject({ status: 200 })
  const ready = await api.call('GET', '/ready')
  expect(ready.status).toBe(503)
  expect(ready.body).toEqual({
    status: 'unavailable',
    parts: { database: 'down', redis: 'not used', server: 'up' },
    problem: expect.any(String) as unknown,
    clock: { status: 'unknown', offsetMs: null },
    version,
  })
  const operations = (await operationsOf(api)).filter(
    ({ template, takesForm }) =>
      !/^\/($|health|ready|tls-allowed|openapi\.json|public\/\w+$|public\/campaigns|public\/subsc|public\/tracking|embed\/|auth\/verify|verify-email|reset-password|accept-invite|forgot-password)/.test(
        template,
      ) && !takesForm,
  )
  const responses = await Promise.all(
    operations.map(({ method, path, example }) => api.call(method, path, { key: 'rpk_some', body: example })),
  )
  for (const response of responses) {
    expectError(response, 503, 'Temporarily unavailable; try again')
    expect(response.headers['retry-after']).toBe('1')
  }
  expect(responses.length).toBeGreaterThan(20)
})

test('a PostgreSQL outage returns 503, and the API recovers automatically', async () => {
  const database = await createTestDatabase()
  onTestFinished(() => database.close())
  const proxy = await startTestProxy(database.url)
  onTestFinished(() => proxy.close())
  const api = await startOn(proxy.url)
  const { key } = await api.signUp()
  for (const round of [1, 2, 3]) {
    expect([round, (await api.call('GET', '/contacts', { key })).status]).toEqual([round, 200])
    proxy.cut(/./)
    expectError(await api.call('POST', '/contacts', { key, body: { email: freshEmail() } }), 503)
    expectError(await api.call('GET', '/contacts', { key }), 503)
    expect((await api.call('GET', '/ready')).status).toBe(503)
    proxy.cut(undefined)
    expect((await api.call('GET', '/ready')).status).toBe(200)
  }
  expect(await api.call('POST', '/contacts', { key, body: { email: freshEmail() } })).toMatchObject({ status: 201 })
})

test('a hung PostgreSQL is reported as down', async () => {
  const api = await start({ timings: { readinessTimeoutMs: 500 } })
  expect((await api.call('GET', '/ready')).status).toBe(200)
  const lockHolder = await openTransaction(api.database.db, (transaction) =>
    transaction.execute('lock table drizzle.__drizzle_migrations in access exclusive mode'),
  )
  const ready = await api.call('GET', '/ready')
  expect(ready).toMatchObject({ status: 503, body: { status: 'unavailable', parts: { database: 'down' } } })
  await lockHolder.commit()
  expect((await api.call('GET', '/ready')).status).toBe(200)
})

test('the API is not ready while migrations are pending', async () => {
  const api = await start({ database: await createEmptyDatabase() })
  const pending = { status: 'unavailable', parts: { database: 'migrations pending', redis: 'not used', server: 'up' } }
  expect(await api.call('GET', '/ready')).toMatchObject({ status: 503, body: pending })

  const migrated = await start()
  await migrated.query('update drizzle.__drizzle_migrations set created_at = created_at - 1')
  expect(await migrated.call('GET', '/ready')).toMatchObject({ status: 503, body: pending })
  // A newer migration belongs to the next release, which is being rolled out.
  await migrated.query('update drizzle.__drizzle_migrations set created_at = created_at + 10')
  expect(await migrated.call('GET', '/ready')).toMatchObject({ status: 200 })
})

test('without Redis the API is degraded but ready, and does not wait for Redis', async () => {
  const server = await createUnreliableRedis()
  onTestFinished(() => server.close())
  const redis = openRedis(server.url, () => {})
  onTestFinished(() => redis.disconnect())
  const api = await start({ redis })
  const { key } = await api.signUp()
  const isReady = async () => (await api.call('GET', '/ready')).body['status'] === 'ready'
  await waitUntil(isReady, { describe: 'Redis is up' })
  for (const [begin, end] of [
    [async () => server.pause(), async () => server.resume()],
    [() => server.stop(), () => server.start()],
  ] as const) {
    await begin()
    const ready = await api.call('GET', '/ready')
    expect(ready).toMatchObject({
      status: 200,
      body: { status: 'degraded', parts: { database: 'up', redis: 'down', server: 'up' } },
    })
    await api.call('GET', '/contacts', { key })
    const created = await api.call('POST', '/contacts', { key, body: { email: freshEmail() } })
    expect(created.status).toBe(201)
    await end()
    await waitUntil(isReady, { describe: 'Redis is up again' })
  }
})
