import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { expect, test } from 'vitest'
import { expectError, freshEmail, operationsOf, startTestApi, type TestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

const unknownRoutes = [
  'GET /nope',
  'GET /Contacts',
  'GET /contacts/a/b/c',
  'OPTIONS /contacts',
  'GET /%ff',
  'GET /contacts/%ff',
  'GET /contacts/%c0%ae%c0%ae',
  'GET /%',
  'GET /..%2f..%2fetc/passwd',
  `GET /${'a'.repeat(15_000)}`,
  'GET /nope?%ff=%ff',
  'GET /<script>alert(1)</script>',
]

test('an unknown route returns a JSON 404 without the path', async () => {
  for (const route of unknownRoutes) {
    const [method = '', path = ''] = route.split(' ')
    const response = await api.call(method, path, { key: workspace.key })
    expectError(response, 404)
    expect(`${route} ${response.text}`).toBe(
      `${route} {"statusCode":404,"message":"Route not found","error":"Not Found","code":"not_found","docUrl":"https://crm.example.com/docs/errors#not_found"}`,
    )
  }
})

test('an unknown route returns 404 for any body and credential', async () => {
  const bodies = [
    { raw: '{bad' },
    { raw: 'x', headers: { 'content-type': 'text/plain' } },
    { raw: Buffer.alloc(2_000_000) },
    { body: {}, key: 'rpk_unknown' },
  ]
  for (const body of bodies) expectError(await api.call('POST', '/nope', body), 404, 'Route not found')
})

test('a malformed id in a path gets exactly the response of an unknown id', async () => {
  const wrongIds = [
    '',
    'null',
    'undefined',
    '[object%20Object]',
    '0',
    '-1',
    '%00',
    '%20',
    '..%2f',
    "'%20or%201=1--",
    '0190e1a0-7b6c-7c43-9d13-9f6cbd2f4f5a',
    '%7B0190e1a0-7b6c-7c43-9d13-9f6cbd2f4f5a%7D',
    'xyz_01kag7m3v9e8fs2t4w6x8y0z1b',
    'CON_01KAG7M3V9E8FS2T4W6X8Y0Z1B',
    'con_91kag7m3v9e8fs2t4w6x8y0z1b',
    'con_',
    'a'.repeat(41),
    'a'.repeat(101),
    'a'.repeat(5_000),
  ]
  const operations = (await operationsOf(api)).filter(({ template, isSecured }) => template.includes('{') && isSecured)
  expect(operations.length).toBeGreaterThan(5)
  for (const { method, template, path, hasBody, example } of operations) {
    const body = hasBody ? { body: example } : {}
    const missing = await api.call(method, path, { key: workspace.key, ...body })
    expectError(missing, 404)
    // One function reads all ids.
    const isWhole = isFullRun || template === '/contacts/{id}'
    for (const id of isWhole ? wrongIds : ['null', '%00', 'xyz_01kag7m3v9e8fs2t4w6x8y0z1b', 'a'.repeat(101)]) {
      const wrong = path.replace(/[a-z]{3}_[0-9a-z]{26}/, id)
      // Read as a listing with a slash too many.
      if (method === 'GET' && wrong.endsWith('/')) continue
      const response = await api.call(method, wrong, { key: workspace.key, ...body })
      expect(`${method} ${template} ${id}: ${response.text}`).toBe(`${method} ${template} ${id}: ${missing.text}`)
    }
  }
})

test('an issue message omits the path; the error message includes it', async () => {
  const { key } = await api.signUp()
  const input = { email: 'a@example.com', customFieldValues: { x: [1] } }
  for (const [method, path, body, issue] of [
    [
      'POST',
      '/webhooks',
      { url: 'ftp://x', eventTypes: ['*'] },
      { path: 'url', message: 'must be an http or https URL' },
    ],
    [
      'POST',
      '/contacts',
      input,
      { path: 'customFieldValues.x', message: expect.not.stringMatching(/expected|Invalid input/) },
    ],
    [
      'POST',
      '/auth/signup',
      { email: 'a@example.com', password: 'password1234' },
      { path: 'password', message: 'is too common; choose another' },
    ],
  ] as const) {
    const response = await api.call(method, path, { key, body })
    expect(expectError(response, 400).issues).toEqual([issue])
    expect(response.body['message']).toMatch(new RegExp(`^${issue.path}: `))
  }
})

test('every response has a request id: the one sent if it is valid', async () => {
  const valid = ['abc', '0190e1a0-7b6c-7c43-9d13-9f6cbd2f4f5a', 'a/b+c=d:e.f_g', 'x'.repeat(128)]
  const invalid = ['', ' ', 'a b', 'x'.repeat(129), '<script>', 'ünï', 'a,b', '{"a":1}']
  for (const path of ['/health', '/contacts', '/nope', '/%ff', '/public/unsubscribe?token=x']) {
    for (const id of valid) {
      const response = await api.call('GET', path, { headers: { 'x-request-id': id } })
      expect(response.headers['x-request-id']).toBe(id)
    }
    for (const id of invalid) {
      const response = await api.call('GET', path, { headers: { 'x-request-id': id } })
      expect(response.headers['x-request-id']).toMatch(/^[\da-f]{8}-[\da-f-]{27}$/)
    }
  }
})

test('a 500 exposes only the request id; the log has the error without data', async () => {
  const email = freshEmail()
  await api.query('alter table events rename to events_elsewhere')
  const response = await api.call('POST', '/contacts', {
    key: workspace.key,
    body: { email },
    headers: { 'x-request-id': 'find-me' },
  })
  await api.query('alter table events_elsewhere rename to events')
  expectError(response, 500)
  expect(response.body).toEqual({
    statusCode: 500,
    message: 'Internal Server Error',
    error: 'Internal Server Error',
    code: 'internal_error',
    docUrl: 'https://crm.example.com/docs/errors#internal_error',
    requestId: 'find-me',
  })
  const failures = api.takeLog()
  expect(failures).toHaveLength(1)
  expect(failures[0]).toContain('find-me')
  expect(failures[0]).toContain('relation \\"events\\" does not exist')
  expect(failures[0]).not.toContain(email)
  const { body } = await api.call('GET', `/contacts?email=${email}`, { key: workspace.key })
  expect(body).toEqual({ data: [], nextCursor: null })
})

const malformedRequests: Record<string, string> = {
  'a head of 20 KB': `GET /health HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(20_000)}\r\n\r\n`,
  'a path of 20 KB': `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
  'two lengths': 'POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}',
  'a length and chunks':
    'POST /auth/login HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
  'bare line feeds': 'GET /health HTTP/1.1\nhost: x\n\n',
  'a NUL in a header': 'GET /health HTTP/1.1\r\nhost: x\r\nauthorization: Bearer \u0000\r\n\r\n',
  'no host': 'GET /health HTTP/1.1\r\n\r\n',
  'another protocol': '\u0016\u0003\u0001\u0002\u0000\u0001\u0000',
}
test.each(Object.entries(malformedRequests))(
  'rejects %s with the common error body and closes the connection',
  async (_name, bytes) => {
    const { port } = await (listening ??= api.listen())
    const socket = connect(port, '127.0.0.1')
    socket.write(bytes)
    const response = await text(socket)
    const [head = '', body = ''] = response.split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 4(00|31) /)
    expect(head).toMatch(/^x-request-id: [\w-]{36}\r?$/m)
    expect(head).toMatch(/^content-type: application\/json; charset=utf-8\r?$/m)
    expect(JSON.parse(body)).toEqual({
      statusCode: Number(head.split(' ')[1]),
      message: expect.stringMatching(/^(The |Host: is required)/) as unknown,
      error: expect.any(String) as unknown,
      code: expect.stringMatching(/^(validation_error|payload_too_large)$/) as unknown,
      docUrl: expect.stringMatching(/^https:\/\/crm\.example\.com\/docs\/errors#/) as unknown,
      ...(body.includes('issues') && { issues: [{ path: 'Host', message: 'is required' }] }),
    })
    expect(response).not.toMatch(/HPE_|\bat \S+ \(/)
  },
)
let listening: ReturnType<TestApi['listen']> | undefined

test('no log line at any level has a credential, password, token or email address', async () => {
  const verboseApi = await startTestApi({ environment: { LOG_LEVEL: 'trace' } })
  const { key, token, email, password } = await verboseApi.signUp()
  const list = await verboseApi.create('/lists', key, { name: 'Newsletter' })
  await verboseApi.call('POST', `/public/lists/${String(list['id'])}/subscribe`, { body: { email } })
  await verboseApi.call('GET', '/public/unsubscribe?token=a-secret-token')
  await verboseApi.call('POST', '/contacts', { key, raw: `{"email": "${email}", "password": "${password}"` })
  await verboseApi.call('POST', '/contacts', { key, body: { email, nonsense: key } })
  await verboseApi.call('POST', '/auth/login', { body: { email, password: `${password}!` } })
  await verboseApi.call('GET', '/contacts', { key, headers: { cookie: token } })
  const log = verboseApi.takeLog().join('')
  expect(log.split('\n').length).toBeGreaterThan(8)
  expect(log).toContain('"path":"/public/unsubscribe"')
  for (const secret of [key, token, email, password, 'a-secret-token']) expect(log).not.toContain(secret)
  await verboseApi.close()
})
