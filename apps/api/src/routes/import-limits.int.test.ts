/** The limits of imports: quotas, and files that expand. */
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import type { Import } from '@rapport/core/imports/imports.schema.ts'
import { setQuotas } from '@rapport/core/workspaces/set-quotas.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { type ApiResponse, type Call, expectError, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
beforeEach(async () => {
  await api.query('truncate imports, outbox, idempotency_records cascade')
  await api.query(`update workspaces set quotas = '{}'`)
})

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

function send(raw: string | Buffer, given: Call & { query?: string } = {}): Promise<ApiResponse<Import>> {
  const { query = '', headers, ...call } = given
  return api.call<Import>('POST', `/contacts/import${query}`, {
    key: workspace.key,
    raw,
    ...call,
    headers: { 'content-type': 'text/csv', ...headers },
  })
}
