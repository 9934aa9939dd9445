import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { finishCanceledImport } from '@rapport/core/imports/import-claim.ts'
import type { Import } from '@rapport/core/imports/imports.schema.ts'
import { waitUntil } from '@rapport/testing/wait.ts'
import { claimTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import {
  aTimestamp,
  anId,
  type ApiResponse,
  type Call,
  expectError,
  freshAddress,
  startTestApi,
  type TestWorkspace,
} from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
let workspace: TestWorkspace
let port: number
beforeAll(async () => {
  ;({ port } = await api.listen())
  workspace = await api.signUp()
})
beforeEach(async () => {
  await api.query('truncate imports, work, idempotency_records cascade')
  await api.query(`update workspaces set quotas = '{}'`)
})

const csv = 'Email;First Name\nada@example.com;Ada\n'

test('POST /contacts/import, GET /imports, GET /imports/{id}: stored and queued', async () => {
  const response = await send(csv, { query: '?onConflict=update&events=each' })
  expect(response.status).toBe(202)
  expect(response.headers['location']).toBe(`/imports/${response.body.id}`)
  expect(response.body).toMatchObject({
    id: anId('imp'),
    kind: 'CONTACTS',
    status: 'QUEUED',
    format: 'csv',
    onConflict: 'update',
    listId: null,
    dryRun: false,
    processed: 0,
    created: 0,
    updated: 0,
    skipped: 0,
    failed: 0,
    errors: [],
    errorCounts: [],
    createdAt: aTimestamp,
    startedAt: null,
    completedAt: null,
  })
  const { key } = workspace
  expect((await api.call('GET', `/imports/${response.body.id}`, { key })).body).toEqual(response.body)
  expect((await api.call('GET', '/imports', { key })).body).toEqual({ data: [response.body], nextCursor: null })
  expect((await api.call('GET', '/imports?status=FAILED', { key })).body).toEqual({ data: [], nextCursor: null })
  expect(await storedFile()).toBe(csv)
  expect(await api.query(`select kind from work where kind = 'IMPORT'`)).toHaveLength(1)
})

test.each([
  ['gzip', gzipSync(csv), { 'content-encoding': 'gzip' }, csv],
  ['another name of gzip, and identity', gzipSync(csv), { 'content-encoding': 'identity, X-GZip' }, csv],
  ['an empty encoding', csv, { 'content-encoding': '' }, csv],
  [
    'gzip with several members',
    Buffer.concat([gzipSync(csv), gzipSync('x;y\n')]),
    { 'content-encoding': 'gzip' },
    `${csv}x;y\n`,
  ],
  ['a charset', csv, { 'content-type': 'Text/CSV; charset="UTF-8"; header=present' }, csv],
  ['another label of UTF-8', csv, { 'content-type': 'text/csv; charset=utf8' }, csv],
  ['the type that Excel gives to a CSV', csv, { 'content-type': 'application/vnd.ms-excel' }, csv],
  ['application/csv', csv, { 'content-type': 'application/csv' }, csv],
  [
    'windows-1252',
    Buffer.from('email;company\na@example.com;Zo\u00eb \u0080', 'latin1'),
    { 'content-type': 'text/csv; charset=windows-1252' },
    'email;company\na@example.com;Zoë €',
  ],
  ['NDJSON', '{"email":"ada@example.com"}', { 'content-type': 'application/x-ndjson' }, '{"email":"ada@example.com"}'],
])('accepts %s', async (...[, raw, headers, stored]) => {
  expect((await send(raw, { headers })).status).toBe(202)
  expect(await storedFile()).toBe(stored)
})

test('encoding takes precedence over the charset, and a workbook is explained', async () => {
  const file = Buffer.from('email;company\na@example.com;Zoë\n', 'latin1')
  const headers = { 'content-type': 'text/csv; charset=utf-8' }
  expect((await send(file, { headers, query: '?encoding=windows-1252' })).status).toBe(202)
  expect(await storedFile()).toBe(file.toString('latin1'))
  const type = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'
  const { message } = expectError(await send(Buffer.from('PK\u0003\u0004'), { headers: { 'content-type': type } }), 400)
  expect(message).toContain('is a workbook')
})

test('a large file is stored in parts', async () => {
  const file = `email\n${'ada@example.com\n'.repeat(200_000)}`
  expect((await send(file)).status).toBe(202)
  const parts = await api.query('select position::int, length(bytes) as length from import_parts order by position')
  expect(parts).toHaveLength(4)
  expect(parts[1]?.['position']).toBe(parts[0]?.['length'])
  expect(await storedFile()).toBe(file)
})

test.each([
  ['JSON', { 'content-type': 'application/json' }],
  ['an invalid type', { 'content-type': 'csv file' }],
  ['no type', { 'content-type': '' }],
  ['another charset', { 'content-type': 'text/csv; charset=utf-16' }],
  ['another encoding', { 'content-encoding': 'br' }],
  ['two encodings', { 'content-encoding': 'gzip, br' }],
])('%s returns 415 and says what is expected', async (_name, headers: Record<string, string>) => {
  const { message } = expectError(await send(csv, { headers }), 415)
  expect(message).toMatch(
    /^The (content type must be text\/csv or application\/x-ndjson(, not "(application\/json|csv file)")?$|charset "utf-16" must be utf-8 or windows-1252|content encoding must be gzip or identity, not "(gzip, )?br"$)/,
  )
})

test('no body returns 415, and an empty file 400', async () => {
  const { key } = workspace
  expectError(await api.call('POST', '/contacts/import', { key }), 415)
  expectError(await send(''), 400, 'The file is empty')
})

test.each([
  ['no email column', 'first name\nAda\n', /^The file has no column email or externalId/],
  ['unknown columns', 'email,Foo,Bar\n', /^Unknown columns: "Foo", "Bar"\. Known columns: email, /],
  ['UTF-16', Buffer.from('\ufeffemail\n', 'utf16le'), /UTF-16/],
  ['a workbook', Buffer.from('PK\u0003\u0004'), /^The file is a workbook of Excel .*: save it as "CSV UTF-8"$/],
  [
    'a wrong encoding',
    Buffer.from('email\nZoë@example.com\n', 'latin1'),
    /not valid UTF-8 \(line 2\): .* encoding=windows-1252/,
  ],
])('a header with %s returns 400 and stores nothing', async (_name, raw, message) => {
  expect(expectError(await send(raw), 400).message).toMatch(message)
  expect(await api.query('select from imports')).toEqual([])
})

test.each([
  ['is not gzip', Buffer.from(csv)],
  ['is truncated', gzipSync(csv.repeat(1_000)).subarray(0, 100)],
  ['is damaged', damaged(gzipSync(csv.repeat(1_000)))],
])('a gzip body that %s returns 400 and stores nothing', async (_name, raw) => {
  expectError(await send(raw, { headers: { 'content-encoding': 'gzip' } }), 400, 'The body is not valid gzip')
  expect(await api.query('select from imports')).toEqual([])
})

test.each([
  ['?listId=lst_01kag7m3v9e8fs2t4w6x8y0z1b', 'consent'],
  ['?listId=lst_01kag7m3v9e8fs2t4w6x8y0z1b&consent=yes', 'consent'],
  ['?listId=lst_01kag7m3v9e8fs2t4w6x8y0z1b&consent=confirmed', 'listId'],
  ['?listId=nonsense&consent=confirmed', 'listId'],
  ['?onConflict=replace', 'onConflict'],
  ['?dryrun=true', 'dryrun'],
  ['?events=all', 'events'],
  ['?encoding=utf-16', 'encoding'],
])('%s returns 400 and names %s', async (query, path) => {
  const { issues } = expectError(await send(csv, { query }), 400)
  expect(issues?.map((issue) => issue.path)).toEqual([path])
})

test('with an Idempotency-Key, a file is imported once; another file returns 422', async () => {
  const headers = { 'idempotency-key': 'monday' }
  const first = await send(csv, { headers })
  const again = await send(gzipSync(csv), { headers: { ...headers, 'content-encoding': 'gzip' } })
  expect([again.status, again.headers['idempotent-replayed'], again.headers['location'], again.body]).toEqual([
    202,
    'true',
    first.headers['location'],
    first.body,
  ])
  expectError(await send(`${csv}grace@example.com;\n`, { headers }), 422)
  expectError(await send(csv, { headers, query: '?dryRun=true' }), 422)
  expectError(await send(csv, { headers: { 'idempotency-key': 'ünï' } }), 400)
  expect(await api.query('select id from imports')).toHaveLength(1)
  expect(await api.query('select from import_parts')).toHaveLength(1)
})

test('an invalid header returns 400 before the upload is complete', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write(head())
  writeChunk(socket, 'name\n')
  const response = readResponse(socket)
  // The header is checked when the first part is full.
  for (let sent = 0; sent < 1_100_000; sent += 100_000) writeChunk(socket, `${'x'.repeat(99_999)}\n`)
  expect(await response).toMatch(/^HTTP\/1.1 400 .*The file has no column email/s)
  socket.destroy()
})

test('an aborted upload is removed', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write(head())
  for (let sent = 0; sent < 1_500_000; sent += 16_000)
    writeChunk(socket, sent === 0 ? 'email\n' : 'ada@example.com\n'.repeat(1_000))
  await waitUntil(async () => (await api.query('select from import_parts')).length === 1, {
    describe: 'a part is stored',
  })
  const [record] = (await api.call<{ data: Import[] }>('GET', '/imports', { key: workspace.key })).body.data
  expect(record?.status).toBe('QUEUED')
  socket.destroy()
  await waitUntil(async () => (await api.query('select from imports')).length === 0, {
    describe: 'the import is removed',
  })
})

test('an upload that is canceled fails with 409 and leaves no part', async () => {
  const socket = connect(port, '127.0.0.1')
  socket.write(head())
  for (let sent = 0; sent < 1_500_000; sent += 16_000)
    writeChunk(socket, sent === 0 ? 'email\n' : 'ada@example.com\n'.repeat(1_000))
  const { key } = workspace
  const record = await waitUntil(
    async () => (await api.call<{ data: Import[] }>('GET', '/imports', { key })).body.data[0],
    { describe: 'the import is being received' },
  )
  expect((await api.call('DELETE', `/imports/${record.id}`, { key })).status).toBe(204)
  const response = readResponse(socket)
  writeChunk(socket, 'grace@example.com\n')
  socket.write('0\r\n\r\n')
  expect(await response).toMatch(/^HTTP\/1.1 409 .*"wrong_state"/s)
  socket.destroy()
  expect((await api.call<Import>('GET', `/imports/${record.id}`, { key })).body.status).toBe('CANCELED')
  // The job deletes what was received before.
  expect(await api.query(`select from work where kind = 'IMPORT'`)).toHaveLength(1)
  const ctx = api.ctx(workspace.id)
  await finishCanceledImport(ctx, await claimTestImport(ctx, record.id))
  expect(await api.query('select from import_parts')).toEqual([])
})

test('the request timeout applies to headers, not to the body of an import', () => {
  const { headersTimeout, requestTimeout } = api.app.server
  expect([headersTimeout, requestTimeout]).toEqual([15_000, 0])
})

test('the OpenAPI document describes the body', async () => {
  const { body } = await api.call<{ paths: Record<string, { post: { requestBody: { content: object } } }> }>(
    'GET',
    '/openapi.json',
  )
  expect(body.paths['/contacts/import']?.post.requestBody.content).toEqual({
    'text/csv': { schema: { type: 'string', format: 'binary' }, example: 'email,firstName\nada@example.com,Ada\n' },
    'application/x-ndjson': {
      schema: { type: 'string', format: 'binary' },
      example: '{"email":"ada@example.com","firstName":"Ada"}\n',
    },
  })
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

async function storedFile(): Promise<string> {
  const parts = await api.query('select bytes from import_parts order by position')
  return Buffer.concat(parts.map((part) => part['bytes'] as Buffer)).toString()
}

function damaged(packed: Buffer): Buffer {
  const [start, end] = [packed.subarray(0, 40), packed.subarray(44)]
  return Buffer.concat([start, Buffer.from('oops'), end])
}

function head(): string {
  const lines = [
    'POST /contacts/import HTTP/1.1',
    'host: rapport',
    `authorization: Bearer ${workspace.key}`,
    `x-forwarded-for: ${freshAddress()}`,
    'content-type: text/csv',
    'transfer-encoding: chunked',
  ]
  return `${lines.join('\r\n')}\r\n\r\n`
}

function writeChunk(socket: ReturnType<typeof connect>, text: string) {
  socket.write(`${text.length.toString(16)}\r\n${text}\r\n`)
}

function readResponse(socket: ReturnType<typeof connect>): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    socket.setEncoding('utf8').once('error', reject)
    socket.on('data', (piece: string) => {
      text += piece
      if (text.includes('}')) resolve(text)
    })
  })
}
