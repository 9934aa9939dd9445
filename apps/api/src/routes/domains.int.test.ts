import { createSocket } from 'node:dgram'
import { addTestDomain, publishRecords } from '@rapport/testing/network/sending-domains.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startNameServer } from '@rapport/testing/network/name-server.ts'
import { newId } from '@rapport/core/kernel/ids.ts'
import type { Domain } from '@rapport/core/domains/domains.schema.ts'
import { beforeEach, expect, test } from 'vitest'
import { type Call, expectError, startTestApi, type TestWorkspace } from '../../test/testing.ts'

const dns = useForFile(() => startNameServer({ denyUnknown: true }))
const api = useForFile(() =>
  startTestApi({ environment: { DNS_SERVER: dns.address, RETURN_PATH_DOMAIN: 'Bounces.Rapport.example' } }),
)
let workspace: TestWorkspace
beforeEach(async () => {
  workspace = await api.signUp()
})
const call = <Body = Domain>(method: string, path: string, options: Pick<Call, 'body' | 'key' | 'headers'> = {}) =>
  api.call<Body>(method, path, { key: workspace.key, ...options })

test('POST /domains, GET and DELETE /domains/{id}: a domain with its records', async () => {
  const created = await call('POST', '/domains', { body: { name: 'Bücher.example.' } })
  expect([created.status, created.headers['location']]).toEqual([201, `/domains/${created.body.id}`])
  expect(created.body).toMatchObject({ name: 'xn--bcher-kva.example', status: 'PENDING', checkedAt: null })
  expect(created.body.records.map(({ purpose }) => purpose)).toEqual(['DKIM', 'DKIM', 'RETURN_PATH', 'DMARC'])
  expect(created.body.records[2]).toMatchObject({ type: 'CNAME', value: 'bounces.rapport.example' })
  expect(created.text).not.toMatch(/private/i)
  const path = `/domains/${created.body.id}`
  expect((await call('GET', path)).body).toEqual(created.body)
  const again = await call('POST', '/domains', { body: { name: 'bücher.example' } })
  expect(expectError(again, 409).code).toBe('already_exists')
  expect((await call('DELETE', path)).status).toBe(204)
  expectError(await call('GET', path), 404, 'Domain not found')
})

test('POST /domains: the same name in another workspace is no conflict', async () => {
  const other = await api.signUp()
  const responses = [
    await call('POST', '/domains', { body: { name: 'example.com' } }),
    await call('POST', '/domains', { body: { name: 'example.com' }, key: other.key }),
  ]
  expect(responses.map(({ status }) => status)).toEqual([201, 201])
  const names = responses.flatMap(({ body }) => body.records.slice(0, 2).map(({ name }) => name))
  expect(new Set(names).size).toBe(4)
})

test('POST /domains/{id}/verify: reads the records from the name server', async () => {
  const ctx = api.ctx(workspace.id)
  const domain = await addTestDomain(ctx, 'engines.example')
  const path = `/domains/${domain.id}/verify`
  const before = (await call('POST', path)).body
  expect([before.status, before.records[0]?.problem]).toEqual([
    'PENDING',
    `There is no TXT record at ${before.records[0]?.name}`,
  ])
  publishRecords(dns, ctx, domain)
  const { body } = await call('POST', path)
  expect(body).toMatchObject({ status: 'VERIFIED', checkedAt: expect.any(String) })
  expect(body.records.map(({ status, problem }) => [status, problem])).toEqual(
    Array.from({ length: 4 }, () => ['VERIFIED', null]),
  )
})

test('POST /domains/{id}/verify: a check that is repeated with its key reads DNS once', async () => {
  const ctx = api.ctx(workspace.id)
  const domain = await addTestDomain(ctx, 'gears.example')
  const headers = { 'idempotency-key': 'check gears' }
  const path = `/domains/${domain.id}/verify`
  const first = await call('POST', path, { headers })
  expect(first.body.status).toBe('PENDING')
  publishRecords(dns, ctx, domain)
  const again = await call('POST', path, { headers })
  expect([again.body, again.headers['idempotent-replayed']]).toEqual([first.body, 'true'])
  const unknown = { 'idempotency-key': 'check none' }
  const missing = `/domains/${newId('dom')}/verify`
  expectError(await call('POST', missing, { headers: unknown }), 404)
  expect((await call('POST', missing, { headers: unknown })).headers['idempotent-replayed']).toBe('true')
})

test('no connection is held while DNS is read, with an idempotency key either', async () => {
  let asked = 0
  const silent = createSocket('udp4').on('message', () => (asked += 1))
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve))
  const environment = { DNS_SERVER: `127.0.0.1:${silent.address().port}` }
  const waiting = await startTestApi({ environment })
  const { id, key } = await waiting.signUp()
  const { id: domainId } = await addTestDomain(waiting.ctx(id), 'slow.example')
  const calls = Array.from({ length: 4 }, (_, at) =>
    waiting.call('POST', `/domains/${domainId}/verify`, { key, headers: { 'idempotency-key': `slow ${at}` } }),
  )
  await expect.poll(() => asked).toBeGreaterThanOrEqual(8)
  const { rows } = await waiting.database.pool.query(
    `select from pg_stat_activity where datname = current_database() and state = 'idle in transaction'`,
  )
  expect(rows).toEqual([])
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
  await waiting.close()
  silent.close()
})

test('POST /domains/{id}/rotate-key: signs with the next key once its record is found', async () => {
  const ctx = api.ctx(workspace.id)
  const domain = await addTestDomain(ctx, 'looms.example')
  const path = `/domains/${domain.id}`
  expect(expectError(await call('POST', `${path}/rotate-key`), 409).code).toBe('wrong_state')
  publishRecords(dns, ctx, domain)
  const { body: before } = await call('POST', `${path}/verify`)
  const { status, body } = await call('POST', `${path}/rotate-key`)
  expect(status).toBe(200)
  expect(body.records.map(({ name }) => name).slice(0, 3)).toEqual([
    before.records[1]?.name,
    expect.stringMatching(/^rp3-/),
    before.records[0]?.name,
  ])
  const again = await call('POST', `${path}/rotate-key`)
  expect(expectError(again, 409).code).toBe('quota_exceeded')
  expect(Number(again.headers['retry-after'])).toBeGreaterThan(6 * 24 * 60 * 60)
})

test('only an ADMIN changes domains, and a VIEWER reads them', async () => {
  const { id } = await addTestDomain(api.ctx(workspace.id), 'engines.example')
  const viewer = await api.issueKey(workspace.token, 'VIEWER')
  const member = await api.issueKey(workspace.token, 'MEMBER')
  expect((await call('GET', `/domains/${id}`, { key: viewer })).status).toBe(200)
  expect((await call('GET', '/domains', { key: viewer })).status).toBe(200)
  for (const [method, path, body] of [
    ['POST', '/domains', { name: 'looms.example' }],
    ['POST', `/domains/${id}/verify`],
    ['POST', `/domains/${id}/rotate-key`],
    ['DELETE', `/domains/${id}`],
  ] as const) {
    expectError(await call(method, path, { key: member, ...(body && { body }) }), 403)
  }
})

test.each(['com', '192.0.2.1', 'ada@example.com', 'localhost'])('the name %s is a 400', async (name) => {
  const { issues } = expectError(await call('POST', '/domains', { body: { name } }), 400)
  expect(issues).toMatchObject([{ path: 'name' }])
})
