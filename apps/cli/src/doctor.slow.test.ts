/** Runs the doctor against installations with problems. */
import { type AddressInfo, createServer, type Socket } from 'node:net'
import {
  createTestCtx,
  createTestForm,
  createTestWebhook,
  createTestWorker,
  expireWorkerHeartbeat,
} from '@rapport/testing/fixtures/factories.ts'
import { createFailingPeriod, setHealth } from '@rapport/testing/fixtures/webhook-health.ts'
import { setQuotas } from '@rapport/core/workspaces/set-quotas.ts'
import { deleteWebhook } from '@rapport/core/webhooks/webhooks.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import { runProcess } from '@rapport/testing/processes/processes.ts'
import { type HttpReceiver, startHttpReceiver } from '@rapport/testing/network/receivers.ts'
import { withRedis, createTestRedis, type TestRedis } from '@rapport/testing/redis/redis.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { containing, missingDirectory, runDoctor } from './testing.ts'

let database: TestDatabase
let redis: TestRedis
let publicSite: HttpReceiver
beforeAll(async () => {
  ;[database, redis, publicSite] = await Promise.all([createTestDatabase(), createTestRedis(), startHttpReceiver()])
  publicSite.respondWith(() => ready('ready', 'up'))
})
afterAll(async () => {
  await Promise.all([publicSite.close(), redis.close(), database.close()])
})

const ready = (status: string, redisState: string) => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ status, parts: { database: 'up', redis: redisState, server: 'up' } }),
})

const examine = (env: Record<string, string> = {}) =>
  runDoctor({ DATABASE_URL: database.url, REDIS_URL: redis.url, PUBLIC_URL: publicSite.url, ...env })

test('PostgreSQL: fails if unavailable, not durable, or not migrated', async () => {
  const found = await examine()
  // The test server runs without fsync.
  expect(found('PostgreSQL')).toEqual(
    containing(
      'ok: version 1',
      'fail: fsync, full_page_writes, synchronous_commit off',
      'warn: autovacuum is off',
      'ok:',
      'ok: the database is up to date',
    ),
  )
  expect(found('Clocks')).toEqual(['ok: PostgreSQL and this machine agree', 'ok: Redis and this machine agree'])

  const empty = await createEmptyDatabase()
  const behind = await examine({ DATABASE_URL: empty.url })
  expect(behind('PostgreSQL').at(-1)).toBe('fail: migrations are pending')
  const unknown = ['warn: unknown, because migrations are pending']
  expect(['Workers', 'Work', 'SECRET_KEY'].map(behind)).toEqual([unknown, unknown, unknown])
  await empty.close()

  const unavailable = await examine({ DATABASE_URL: 'postgres://127.0.0.1:1/none' })
  expect(unavailable('PostgreSQL')).toEqual(containing('fail: connect ECONNREFUSED 127.0.0.1:1'))
  expect(unavailable('Workers')).toEqual(['warn: unknown, because PostgreSQL is unavailable'])
  expect(unavailable('PUBLIC_URL')).toEqual([`ok: ${publicSite.url} is a Rapport API`])
})

test('PostgreSQL: warns if the connection limit is too low for an API and a worker', async () => {
  const { rows } = await database.pool.query<{ name: string }>('select current_database() as name')
  await database.pool.query(`alter database ${rows[0]?.name} connection limit 49`)
  expect((await examine())('PostgreSQL')).toContainEqual(
    'warn: the limit is 49 connections; an API process uses up to 30, a worker up to 20',
  )
  await database.pool.query(`alter database ${rows[0]?.name} connection limit -1`)
})

test('Backups: warns if there is none, or none of the last 26 hours', async () => {
  expect((await examine())('Backups')).toEqual(['warn: none is recorded'])
  const addBackup = (hours: number) =>
    database.pool.query(`insert into backups values ($1, 12345678, 900, true, false, now() - $2 * interval '1 hour')`, [
      `${hours}.dump`,
      hours,
    ])
  await addBackup(27)
  expect((await examine())('Backups')).toEqual(['warn: the newest is 27 h old: 12.3 MB, encrypted, not verified'])
  await addBackup(25)
  expect((await examine())('Backups')).toEqual(['ok: the newest is 25 h old: 12.3 MB, encrypted, not verified'])
})

test('Partitions: shows for how long they exist, and warns if they have run out', async () => {
  expect((await examine())('Partitions')).toEqual([
    expect.stringMatching(/^ok: events and deliveries have partitions for the next \d+ d$/),
  ])
  await database.pool.query(`drop table events_past, deliveries_past`)
  const { rows } = await database.pool.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'events'::regclass`,
  )
  await database.pool.query(`drop table ${rows[0]?.name}`)
  await database.pool.query(`create table events_past partition of events for values from (minvalue) to (maxvalue)`)
  expect((await examine())('Partitions')).toEqual(['warn: no future partitions: new rows go to the last one'])
})

test('Redis: warns about eviction and missing persistence, fails if unavailable', async () => {
  await withRedis(redis.url, (client) => client.config('SET', 'maxmemory-policy', 'allkeys-lru'))
  expect((await examine())('Redis')).toEqual(
    containing('warn: Redis evicts keys (maxmemory-policy allkeys-lru)', 'warn: Redis keeps no append-only file'),
  )
  await withRedis(redis.url, (client) => client.config('SET', 'maxmemory-policy', 'noeviction', 'appendonly', 'yes'))
  expect((await examine())('Redis')).toEqual([expect.stringMatching(/^ok: version \d/)])
  expect((await examine({ REDIS_URL: 'redis://127.0.0.1:1' }))('Redis')).toEqual(
    containing('fail: connect ECONNREFUSED'),
  )
  expect((await examine({ REDIS_URL: '' }))('Redis')).toEqual(containing('ok: not used'))
})

test('Redis: fails if its memory is full', async () => {
  const limitTo = (maxmemory: string) => withRedis(redis.url, (client) => client.config('SET', 'maxmemory', maxmemory))
  await withRedis(redis.url, (client) => client.set('ballast', 'x'.repeat(20_000_000)))
  await limitTo('23000kb')
  expect((await examine())('Redis')).toEqual(['warn: the memory is almost full'])
  await limitTo('20mb')
  await expect(withRedis(redis.url, (client) => client.set('one', 'more'))).rejects.toThrow('OOM')
  expect((await examine())('Redis')).toEqual(['fail: the memory is full, and Redis rejects writes'])
  await limitTo('0')
  await redis.flush()
})

test('Clocks: fails if they differ by minutes', async () => {
  const server = createServer((socket) =>
    socket.on('error', () => {}).on('data', (data) => respondLikeRedis(socket, data)),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const found = await examine({ REDIS_URL: `redis://127.0.0.1:${(server.address() as AddressInfo).port}` })
  expect(found('Clocks')).toEqual([
    'ok: PostgreSQL and this machine agree',
    expect.stringMatching(/^fail: Redis is 3[56]\d\d s ahead/),
  ])
  expect(found('Redis')).toEqual(containing('fail: version 5.0.0', 'fail: the server is a replica'))
  await new Promise((resolve) => server.close(resolve))
})

/** Responds like a replica with an old version of Redis and a clock that is an hour ahead. */
function respondLikeRedis(socket: Socket, data: Buffer | string) {
  const info = 'redis_version:5.0.0\r\nrole:slave\r\nloading:0\r\n'
  const seconds = String(Math.floor(Date.now() / 1_000) + 3_600)
  for (const [, command = ''] of data.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g)) {
    if (/^info$/i.test(command)) socket.write(`$${info.length}\r\n${info}\r\n`)
    else if (/^time$/i.test(command)) socket.write(`*2\r\n$${seconds.length}\r\n${seconds}\r\n$1\r\n0\r\n`)
    else socket.write('+OK\r\n')
  }
}

test('Workers, Work: fails without a live worker, or if work is not published', async () => {
  const ctx = await createTestCtx(database.db)
  expect((await examine())('Workers')).toEqual(['fail: no worker is alive: no emails and webhooks are sent'])
  await createTestWorker(database.db)
  const silent = await createTestWorker(database.db)
  await expireWorkerHeartbeat(database.db, silent)
  const found = await examine()
  expect(found('Workers')).toEqual(containing('ok: 1 alive, on ', 'warn: the last heartbeat of a worker on '))
  expect(found('Work')).toEqual(['ok: 0 unfinished, none overdue'])

  await database.pool.query(`
    insert into work (id, workspace_id, kind, due_at)
    select uuidv7(), id, 'MAIL', now() - interval '20 minutes' from workspaces`)
  expect((await examine())('Work')).toEqual(['fail: work has waited 20 min for a worker'])
  await database.pool.query(`
    update work set published_at = now(), created_at = now() - interval '3 hours'`)
  expect((await examine())('Work')).toEqual(['warn: queue mail: the oldest work is 3 h old'])
  await database.pool.query(`delete from work`)
  await createTestWebhook(ctx)
})

test('Webhooks: warns about those that have failed for an hour', async () => {
  const ctx = await createTestCtx(database.db)
  expect((await examine())('Webhooks')).toEqual(['ok: none has failed for an hour'])
  const { id } = await createTestWebhook(ctx)
  await setHealth(ctx, id, createFailingPeriod(2, 3))
  expect((await examine())('Webhooks')).toEqual(['warn: 1 has failed for an hour or longer'])
  await deleteWebhook(ctx, id)
})

test('Quotas: names workspaces that have used nine tenths, with the quota and the use', async () => {
  expect((await examine())('Quotas')).toEqual(['ok: no workspace uses 90 % of a quota'])
  const ctx = await createTestCtx(database.db)
  for (let n = 0; n < 9; n++) await createTestForm(ctx)
  await setQuotas(ctx, { forms: 10 })
  expect((await examine())('Quotas')).toEqual([`warn: ${ctx.workspaceId} "Analytical Engines" uses 9 of 10 forms`])
  await setQuotas(ctx, { forms: null })
  // Every workspace has one pipeline.
  for (let n = 0; n < 6; n++) await createTestCtx(database.db)
  const many = (await examine({ QUOTA_PIPELINES: '1' }))('Quotas')
  expect(many).toHaveLength(6)
  expect(many.at(-1)).toBe('warn: more workspaces are near a quota')
  expect((await examine({ QUOTA_FORMS: '-1' }))('Quotas')).toEqual([])
})

test('Disk: shows the disk of a PostgreSQL server on this machine', async () => {
  expect((await examine())('Disk')).toEqual(
    expect.arrayContaining([expect.stringMatching(/^(ok|warn|fail): PostgreSQL.*: .+ are free$/)]),
  )
})

test('SECRET_KEY: warns about a weak key, fails if it cannot decrypt stored secrets', async () => {
  // The secret of the webhook from the previous test is encrypted with another key.
  const wrong = containing('ok: looks random', 'fail: is not the key of', 'fail: 1 webhook cannot be signed')
  expect((await examine())('SECRET_KEY')).toEqual(wrong)
  const known = await examine({ SECRET_KEY: 'a secret that is known to every test' })
  expect(known('SECRET_KEY')).toEqual(['warn: looks like words or a pattern'])
  const former = await examine({ SECRET_KEY_PREVIOUS: 'a secret that is known to every test' })
  expect(former('SECRET_KEY')).toEqual(['ok: looks random'])
  const pattern = await examine({
    SECRET_KEY: '0123'.repeat(10),
    SECRET_KEY_PREVIOUS: 'a secret that is known to every test',
  })
  expect(pattern('SECRET_KEY')).toEqual(['warn: looks like words or a pattern'])
})

test('Environment: reports every invalid variable, and the other checks still run', async () => {
  const found = await examine({ MAIL_FROM: 'invalid', SMTP_URL: '', PORT: '99999' })
  expect(found('Environment')).toEqual(
    containing('fail: MAIL_FROM: must be', 'fail: PORT: must be', 'fail: SMTP_URL: must be'),
  )
  expect(found('PostgreSQL')).not.toEqual([])
})

test('Redis: an invalid REDIS_URL is a finding of the environment only', async () => {
  const found = await examine({ REDIS_URL: 'http://127.0.0.1' })
  expect(found('Environment')).toEqual(containing('fail: REDIS_URL: must be'))
  expect(found('Redis')).toEqual([])
})

test('RETENTION_EVENTS_DAYS: warns if events are kept for more than 37 days', async () => {
  const findWith = async (days: string) => (await examine({ RETENTION_EVENTS_DAYS: days }))('RETENTION_EVENTS_DAYS')
  expect((await examine())('RETENTION_EVENTS_DAYS')).toEqual([])
  expect(await findWith('30')).toEqual([])
  expect(await findWith('31')).toEqual(['warn: what quotes a deleted contact is kept for up to 38 days, not 37'])
})

test('RATE_LIMIT_EXEMPT: warns if it may exempt clients of others', async () => {
  const findWith = async (env: Record<string, string>) => (await examine(env))('RATE_LIMIT_EXEMPT')
  expect(await findWith({ RATE_LIMIT_EXEMPT: '8.8.8.8, 2600::/64' })).toEqual([])
  expect(await findWith({ RATE_LIMIT_EXEMPT: '10.0.0.0/8', TRUST_PROXY: 'loopback' })).toEqual([])
  expect(await findWith({ RATE_LIMIT_EXEMPT: '10.0.0.0/8, 0.0.0.0/0' })).toEqual(
    containing('warn: 10.0.0.0/8 is private', 'warn: 0.0.0.0/0 exempts every client'),
  )
})

test('PUBLIC_URL: must be an https URL that reaches a Rapport API without a redirect', async () => {
  publicSite.respondWith(() => ({ body: 'It works!' }))
  expect((await examine())('PUBLIC_URL')).toEqual(containing('returned 200, but is not a Rapport API'))
  publicSite.respondWith(() => ({ status: 308, headers: { location: 'https://crm.example.com/ready' } }))
  expect((await examine())('PUBLIC_URL')).toEqual(containing('redirects to https://crm.example.com/ready'))
  publicSite.respondWith(() => ready('degraded', 'down'))
  expect((await examine())('PUBLIC_URL')).toEqual(containing('warn:'))
  publicSite.respondWith(() => ready('ready', 'up'))
  const foreign = await examine({ PUBLIC_URL: 'http://crm.invalid' })
  expect(foreign('PUBLIC_URL')).toEqual(
    containing('fail: http://crm.invalid is not https', 'fail: http://crm.invalid does not'),
  )
})

test('a server that never responds does not block the other checks', async () => {
  const sockets: Socket[] = []
  const silent = createServer((socket) => void sockets.push(socket.on('error', () => {})))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const address = `127.0.0.1:${(silent.address() as AddressInfo).port}`
  const found = await examine({
    DATABASE_URL: `postgres://${address}/x`,
    REDIS_URL: `redis://${address}`,
    SMTP_URL: `smtp://${address}`,
    PUBLIC_URL: `http://${address}`,
  })
  for (const about of ['PostgreSQL', 'Redis', 'SMTP', 'PUBLIC_URL']) expect(found(about)[0]).toMatch(/^fail/)
  expect(found('Sender')).toHaveLength(1)
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => silent.close(resolve))
})

test('prints each finding with its advice on the next line, without color in a pipe', {
  timeout: 60_000,
}, async () => {
  const { stdout, code } = await runProcess({
    script: 'apps/cli/src/main.ts',
    parameters: ['doctor'],
    env: { DATA_DIR: missingDirectory, DATABASE_URL: database.url, SECRET_KEY: 'short' },
  })
  expect(code).toBe(1)
  expect(stdout).toMatch(/^fail {2}Environment +SECRET_KEY: must have at least 32 characters\n +See .env.example.$/m)
  expect(stdout).toMatch(/\n\d+ ok, \d+ warn, \d+ fail\n$/)
  expect(stdout).not.toContain('\u001b')
})
