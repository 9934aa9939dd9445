/** The limits of imports: quotas, and files that expand. */
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Import } from '@rapport/core/imports/imports.schema.ts'
import { setQuotas } from '@rapport/core/workspaces/set-quotas.ts'
import { suspendWorkspace } from '@rapport/core/workspaces/suspension.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { useForFile, useForTest } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { startSlowUpload } from '../../test/slow-upload.ts'
import { type ApiResponse, type Call, expectError, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
/** The API caches the quotas of a workspace. */
const workspace = useForTest(() => api.signUp())
let port: number
beforeAll(async () => void ({ port } = await api.listen()))
beforeEach(() => api.query('truncate imports, work, idempotency_records cascade'))

const csv = 'Email;First Name\nada@example.com;Ada\n'
const gzip = { 'content-encoding': 'gzip' }

test('a gzip body that expands over 100 times returns 413 and stores nothing', async () => {
  const bomb = gzipSync(`email\n${'ada@example.com\n'.repeat(2_000_000)}`)
  expect(bomb.length).toBeLessThan(100_000)
  const { message } = expectError(await send(bomb, { headers: gzip, query: '?dryRun=true' }), 413)
  expect(message).toBe('The body expands to more than 100 times its compressed size')
  expect(await api.query('select from imports')).toEqual([])
  expect(await api.query('select from import_parts')).toEqual([])
})

test('a small gzip file may be highly repetitive', async () => {
  expect((await send(gzipSync(`email\n${'ada@example.com\n'.repeat(60_000)}`), { headers: gzip })).status).toBe(202)
})

test('a file above the quota of bytes returns 413 and stores nothing', async () => {
  await setQuotas(api.ctx(workspace.id), { importBytes: 1_500_000 })
  const file = (bytes: number) => `email\n${'x'.repeat(bytes - 6)}`
  expectError(await send(file(1_500_001)), 413, 'The file is larger than 1500000 bytes')
  expectError(await send(gzipSync(`email\n${randomBytes(800_000).toString('hex')}`), { headers: gzip }), 413)
  expect(await api.query('select from imports')).toEqual([])
  expect((await send(file(1_500_000))).status).toBe(202)
})

test('at most 5 unfinished imports per workspace, also for concurrent requests', async () => {
  const responses = await Promise.all(
    Array.from({ length: 8 }, (_, n) => send(csv, { query: n % 2 ? '?dryRun=true' : '' })),
  )
  expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    ...Array(5).fill(202),
    409,
    409,
    409,
  ])
  const refused = responses.find(({ status }) => status === 409)
  expect(refused?.body).toMatchObject({ code: 'quota_exceeded', quota: 'imports', limit: 5 })
  expect(await api.query('select from import_parts')).toHaveLength(5)
  const id = responses.find(({ status }) => status === 202)?.body.id
  await api.call('DELETE', `/imports/${id}`, { key: workspace.key })
  expect((await send(csv)).status).toBe(202)
  expect((await send(csv, { key: (await api.signUp()).key })).status).toBe(202)
})

test('an abandoned upload stops counting, and a repeated request needs no quota', async () => {
  await setQuotas(api.ctx(workspace.id), { imports: 1 })
  const headers = { 'idempotency-key': 'tuesday' }
  const first = await send(csv, { headers })
  expect((await send(csv, { headers })).body).toEqual(first.body)
  expectError(await send(csv), 409)
  await api.query(`update imports set status = 'RECEIVING', received_at = now() - interval '61 minutes'`)
  expect((await send(csv)).status).toBe(202)
})

test('a repeated upload is answered without storing it again', async () => {
  const file = `email\n${'ada@example.com\n'.repeat(200_000)}`
  const headers = { 'idempotency-key': 'wednesday' }
  const first = await send(file, { headers })
  await api.query('alter table import_parts add constraint stores_nothing check (false) not valid')
  try {
    expect((await send(file, { headers })).body).toEqual(first.body)
    expectError(await send(`${file}x@example.com\n`, { headers }), 422)
  } finally {
    await api.query('alter table import_parts drop constraint stores_nothing')
  }
})

test('at most 5 uploads per workspace at once, counted before a part is stored', async () => {
  // A repeated upload counts too.
  const repeated = { headers: { 'idempotency-key': 'thursday' } }
  expect((await send(csv, repeated)).status).toBe(202)
  const uploads = Array.from({ length: 6 }, () => startSlowUpload(port, { key: workspace.key, size: 0 }))
  // One of them is refused once the others are under way.
  expect(await Promise.race(uploads.map(({ response }) => response))).toContain('HTTP/1.1 409')
  expectError(await send(csv, repeated), 409)
  expect(await api.query('select from imports')).toHaveLength(1)
  expect((await send(csv, { key: (await api.signUp()).key })).status).toBe(202)
  for (const upload of uploads) upload.destroy()
  await waitUntil(async () => (await send(csv, repeated)).status === 202, {
    describe: 'the uploads have ended',
    timeoutMs: 20_000,
  })
})

test.each([
  ['a demoted', 'PATCH', 403],
  ['a removed', 'DELETE', 401],
] as const)('the upload of %s member imports nothing', async (_name, method, status) => {
  const { id, token } = await api.join(workspace, 'MEMBER')
  const upload = startSlowUpload(port, { key: token, size: 1_500_000 })
  await waitForPart()
  const change = { key: workspace.token, ...(method === 'PATCH' && { body: { role: 'VIEWER' } }) }
  expect((await api.call(method, `/members/${id}`, change)).status).toBeLessThan(300)
  expect(await upload.end()).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
  expect(await api.query('select from imports')).toEqual([])
  expect(await api.query('select from import_parts')).toEqual([])
})

test('an upload that ends after the suspension of its workspace imports nothing', async () => {
  const other = await api.signUp()
  const upload = startSlowUpload(port, { key: other.key, size: 1_500_000 })
  await waitForPart()
  await suspendWorkspace(api.ctx(other.id))
  expect(await upload.end()).toMatch(/^HTTP\/1.1 403 .*"workspace_suspended"/s)
  expect(await api.query('select from imports')).toEqual([])
})

async function waitForPart() {
  const hasPart = async () => (await api.query('select from import_parts')).length === 1
  await waitUntil(hasPart, { describe: 'a part is stored' })
}

function send(raw: string | Buffer, given: Call & { query?: string } = {}): Promise<ApiResponse<Import>> {
  const { query = '', headers, ...call } = given
  return api.call<Import>('POST', `/contacts/import${query}`, {
    key: workspace.key,
    raw,
    ...call,
    headers: { 'content-type': 'text/csv', ...headers },
  })
}
