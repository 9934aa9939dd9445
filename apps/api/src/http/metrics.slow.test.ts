import { createTestDatabase, openTransaction } from '@rapport/testing/postgres/database.ts'
import { createUnreliableRedis } from '@rapport/testing/redis/unreliable-redis.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { expect, onTestFinished, test } from 'vitest'
import { openRedis } from './rate-limit/redis-connection.ts'
import { anId, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const token = 'the-token-of-prometheus'

async function start(options: Parameters<typeof startTestApi>[0] = {}) {
  const api = await startTestApi({ ...options, environment: { METRICS_TOKEN: token } })
  onTestFinished(() => api.close())
  async function read(): Promise<string[]> {
    const response = await api.call('GET', '/metrics', { key: token })
    expect(`${response.status} ${response.headers['content-type']}`).toMatch(/^200 text\/plain; version=0.0.4/)
    return response.text.split('\n')
  }
  const linesOf = async (name: string) =>
    (await read()).filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
  return { ...api, linesOf }
}

test('serves metrics only with the token', async () => {
  const api = await start()
  const { key } = await api.signUp()
  for (const wrong of [undefined, key, 'another-token', token.toUpperCase()]) {
    expectError(await api.call('GET', '/metrics', wrong === undefined ? {} : { key: wrong }), 401)
  }
  expect((await api.linesOf('rapport_database_up'))[0]).toBe('rapport_database_up 1')
})

test('the route does not exist without a configured token', async () => {
  const api = await startTestApi()
  onTestFinished(() => api.close())
  expectError(await api.call('GET', '/metrics', { key: token }), 404)
})

test('counts requests by route, method and status class, never by path', async () => {
  const api = await start()
  const { key } = await api.signUp()
  const { id } = await api.create<{ id: string }>('/contacts', key, { email: freshEmail() })
  expect(id).toEqual(anId('con'))
  await api.call('GET', `/contacts/${id}`, { key })
  await api.call('GET', `/contacts/con_unknown`, { key })
  await api.call('GET', '/contacts')
  for (const path of ['/a', '/b?c=d', '/contacts/x/y/z', '/%', '/queues']) await api.call('GET', path)
  await api.call('DELETE', '/nothing')
  const counts = await api.linesOf('rapport_http_request_duration_seconds_count')
  expect(counts.filter((line) => /contacts|none/.test(line)).toSorted()).toEqual([
    'rapport_http_request_duration_seconds_count{route="/contacts",method="GET",status="4xx"} 1',
    'rapport_http_request_duration_seconds_count{route="/contacts",method="POST",status="2xx"} 1',
    'rapport_http_request_duration_seconds_count{route="/contacts/:id",method="GET",status="2xx"} 1',
    'rapport_http_request_duration_seconds_count{route="/contacts/:id",method="GET",status="4xx"} 1',
    'rapport_http_request_duration_seconds_count{route="none",method="any",status="4xx"} 6',
  ])
})

test('reports waiting work per queue, with the age of the oldest', async () => {
  const api = await start()
  const { key } = await api.signUp()
  await api.create('/webhooks', key, { url: 'https://example.com/hook', eventTypes: ['contact.created'] })
  for (let n = 0; n < 3; n++) await api.create('/contacts', key, { email: freshEmail() })
  await api.query(
    `update deliveries set created_at = now() - interval '90 seconds' where id = (select id from deliveries limit 1)`,
  )
  expect(await api.linesOf('rapport_work_rows')).toEqual(
    expect.arrayContaining([
      'rapport_work_rows{queue="webhooks",state="waiting"} 3',
      'rapport_work_rows{queue="webhooks",state="published"} 0',
      'rapport_work_rows{queue="campaigns",state="waiting"} 0',
    ]),
  )
  const [oldest = ''] = await api.linesOf('rapport_work_oldest_seconds')
  expect(oldest).toMatch(/^rapport_work_oldest_seconds\{queue="webhooks",state="waiting"\} 9\d\./)
  expect(await api.linesOf('rapport_workers')).toEqual(['rapport_workers 0'])
})

test('counts webhooks that have failed for an hour or longer, and were tried today', async () => {
  const api = await start()
  const { key } = await api.signUp()
  for (const path of ['failing', 'failed just now', 'failed-last-week', 'succeeding']) {
    await api.create('/webhooks', key, { url: `https://example.com/${path}`, eventTypes: ['*'] })
  }
  await api.query(
    `insert into webhook_health (workspace_id, webhook_id, last_failure_at, failing_since)
     select workspace_id, id, now() - case when url like '%week' then interval '7 days' else '0' end,
       now() - case when url like '%week' then interval '8 days' when url like '%/failing' then '61 minutes' else '59 minutes' end
     from webhooks where url not like '%/succeeding'`,
  )
  expect(await api.linesOf('rapport_webhooks_failing')).toEqual(['rapport_webhooks_failing 1'])
})

test('has the age of the newest backup once there is one', async () => {
  const [api, withoutBackup] = [await start(), await start()]
  expect(await withoutBackup.linesOf('rapport_backup_age_seconds')).toEqual([])
  for (const hours of [30, 2, 50]) {
    await api.query(
      `insert into backups values ('${hours}.dump', 1, 1, false, false, now() - interval '${hours} hours')`,
    )
  }
  expect(await api.linesOf('rapport_backup_age_seconds')).toEqual([
    expect.stringMatching(/^rapport_backup_age_seconds 720\d/),
  ])
})

test('counts only workers with a recent heartbeat', async () => {
  const api = await start()
  await api.query(
    `insert into workers (id, host, seen_at)
     values (uuidv7(), 'running', now()), (uuidv7(), 'killed', now() - interval '16 seconds')`,
  )
  expect(await api.linesOf('rapport_workers')).toEqual(['rapport_workers 1'])
  await api.query('delete from workers')
})

test('does not count the work at each scrape', async () => {
  const api = await start()
  const rows = await api.linesOf('rapport_work_rows')
  const { key } = await api.signUp()
  await api.call('POST', '/auth/forgot-password', { body: { email: freshEmail() } })
  await api.create('/webhooks', key, { url: 'https://example.com/hook', eventTypes: ['*'] })
  await api.create('/contacts', key, { email: freshEmail() })
  expect(await api.linesOf('rapport_work_rows')).toEqual(rows)
})

test('while PostgreSQL hangs, a scrape succeeds and omits stale queue metrics', async () => {
  const database = await createTestDatabase()
  const api = await start({ database })
  const lockHolder = await openTransaction(database.db, (transaction) =>
    transaction.execute('lock table work in access exclusive mode'),
  )
  expect(await api.linesOf('rapport_work_rows')).toEqual([])
  expect(await api.linesOf('rapport_workers')).toEqual([])
  expect(await api.linesOf('rapport_http_request_duration_seconds_count')).not.toEqual([])
  await lockHolder.commit()
})

test('Redis is reported up while it responds', async () => {
  const server = await createUnreliableRedis()
  onTestFinished(() => server.close())
  const redis = openRedis(server.url, () => {})
  onTestFinished(() => redis.disconnect())
  const api = await start({ redis })
  const is = async (line: string) => (await api.linesOf('rapport_redis_up'))[0] === line
  await waitUntil(() => is('rapport_redis_up 1'), { describe: 'Redis is up' })
  server.pause()
  await waitUntil(() => is('rapport_redis_up 0'), { describe: 'Redis is down' })
  server.resume()
  await waitUntil(() => is('rapport_redis_up 1'), { describe: 'Redis is up again' })
})
