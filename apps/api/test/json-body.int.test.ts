import { request } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { waitUntil } from '@rapport/testing/wait.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { expectError, freshEmail, type Operation, operationsOf, startTestApi } from './testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let routes: Operation[]
let server: { url: string; port: number }
beforeAll(async () => {
  // All routes for JSON, with or without a body. Pages accept forms, and the import accepts files.
  routes = (await operationsOf(api)).filter(
    ({ method, template }) =>
      /POST|PATCH|PUT/.test(method) &&
      !isPage(template) &&
      !isSigned(template) &&
      !/^\/(contacts|suppressions)\/import$/.test(template),
  )
  server = await api.listen()
})

const isPage = (template: string) =>
  /^\/(public\/(unsubscribe|subscriptions|preferences|tracking|open|click)|f\/|reset-password|accept-invite|verify-email|forgot-password)/.test(
    template,
  )

/** The signature of a provider covers the bytes of the body: they are not parsed before. */
const isSigned = (template: string) => template.startsWith('/mail-events/')

/** Sends the same body to every JSON route, and returns each response with the name of its route. */
async function sendEverywhere(raw: string | Buffer, headers: Record<string, string> = {}) {
  const responses = routes.map(async ({ method, template, path, isSecured, hasBody }) => {
    const response = await api.call(method, path, { raw, headers, ...(isSecured && { key: workspace.key }) })
    return { route: `${method} ${template}`, isBodyless: !hasBody, response }
  })
  return Promise.all(responses)
}

async function expectEverywhere(
  refusal: [status: number, message: RegExp],
  ...sent: Parameters<typeof sendEverywhere>
) {
  const [status, message] = refusal
  const responses = await sendEverywhere(...sent)
  expect(responses.length).toBeGreaterThan(8)
  for (const { route, response } of responses) {
    const body = expectError(response, status)
    expect(`${route}: ${body.message}`).toMatch(message)
  }
}

const deep = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

const notJson: Record<string, string | Buffer> = {
  'an incomplete object': '{bad',
  'a trailing comma': '{"email":"a@example.com",}',
  NaN: '{"a":NaN}',
  'single quotes': "{'a':1}",
  'a comment': '{"a":1} // so',
  'two values': '{}{}',
  'a bare word': 'email=ada',
  'white space': ' \n',
  'invalid UTF-8': Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d]),
  'UTF-16': Buffer.from('\uFEFF{"a":1}', 'utf16le'),
}
test.each(Object.entries(notJson))('every route rejects %s as invalid JSON', async (_name, raw) => {
  await expectEverywhere([400, /: The body is not valid JSON$/], raw)
})

test.each([
  ['{"__proto__":{"role":"OWNER"}}', '__proto__'],
  ['{"\\u005f_proto__":{"role":"OWNER"}}', '__proto__'],
  ['{"a":[{"__proto__":1}]}', 'a.0.__proto__'],
])('every route rejects the key __proto__ in %s and names it', async (raw, path) => {
  await expectEverywhere([400, new RegExp(`: ${path}: unknown field$`)], raw)
})

test.each([
  ['{"a":1,"\\u0061":2}', 'a'],
  ['{"filter":{"tags":{"has":"vip","has":"pro"}}}', 'filter.tags.has'],
  ['{"a":[{},{"b":1,"b":1}]}', 'a.1.b'],
])('every route rejects a key that stands twice in %s and names it', async (raw, path) => {
  await expectEverywhere([400, new RegExp(`: ${path}: must be sent only once$`)], raw)
})

test('every route rejects text that cannot be stored unchanged, and names the field', async () => {
  for (const [text, problem] of [
    ['\\u0000', 'must not contain control characters'],
    ['\\ud800', 'must be valid Unicode'],
    ['\\udc00\\ud800', 'must be valid Unicode'],
  ]) {
    await expectEverywhere([400, new RegExp(`: email: ${problem}$`)], `{"email":"a${text}"}`)
    await expectEverywhere([400, new RegExp(`: a.0.b: ${problem}$`)], `{"a":[{"b":"${text}"}]}`)
    await expectEverywhere([400, new RegExp(`: body: ${problem}$`)], `{"${text}":1}`)
    await expectEverywhere([400, new RegExp(`: body: ${problem}$`)], `"${text}"`)
  }
})

test('every route rejects deep nesting of any depth', async () => {
  await expectEverywhere([400, /: The body is nested deeper than 32 levels$/], deep(33))
  await expectEverywhere([400, /: The body is nested deeper than 32 levels$/], deep(30_000))
  const objects = `{"a":${'{"a":'.repeat(40)}1${'}'.repeat(41)}`
  await expectEverywhere([400, /: The body is nested deeper than 32 levels$/], objects)
  await expectEverywhere([400, /: The body is not valid JSON$/], '['.repeat(60_000))
})

test('every route rejects a body with too many values before validation', async () => {
  await expectEverywhere([400, /: The body has more than 10000 values$/], `[${'0,'.repeat(10_000)}0]`)
})

test('bodies of maximum size with deep nesting or many values are rejected', async () => {
  const keys = Array.from({ length: 60_000 }, (_, index) => `"k${index}":1`)
  for (const path of ['/contacts', '/campaigns', '/auth/login']) {
    const responses = [
      await api.call('POST', path, { key: workspace.key, raw: deep(100_000) }),
      await api.call('POST', path, { key: workspace.key, raw: deep(500_000) }),
      await api.call('POST', path, { key: workspace.key, raw: `{${keys.join()}}` }),
    ]
    for (const response of responses) expectError(response, 400)
  }
})

test('a route with a body rejects everything that is not an object', async () => {
  for (const raw of ['null', '[]', '', '"text"', '42', 'true', '[1]', '[{}]']) {
    const withBody = (await sendEverywhere(raw)).filter(({ isBodyless, route }) => {
      const needsBody = !/\/(preview|retry|redeliver|opt-out|test)$/.test(route) || !['null', ''].includes(raw)
      return !isBodyless && needsBody
    })
    for (const { response } of withBody) expectError(response, 400, 'The body must be a JSON object')
  }
})

test('a route without a body accepts only empty bodies, in every form', async () => {
  const bodyless = async (raw: string) => (await sendEverywhere(raw)).filter(({ isBodyless }) => isBodyless)
  for (const raw of ['null', '[]', '{}', '']) {
    // 403: an API key has no address to confirm.
    for (const { response } of await bodyless(raw)) expect([204, 403, 404]).toContain(response.status)
  }
  for (const raw of ['"text"', '42', 'true', '[1]', '[{}]']) {
    const responses = await bodyless(raw)
    expect(responses).toHaveLength(11)
    for (const { response } of responses) expectError(response, 400, 'The body must be a JSON object')
  }
})

test('every route rejects and names each unknown body field', async () => {
  for (const { route, response } of await sendEverywhere('{"id":"x","workspaceId":"y","emial":"ada@example.com"}')) {
    const { issues = [] } = expectError(response, 400)
    const unknown = issues.filter(({ message }) => message.startsWith('unknown field')).map(({ path }) => path)
    expect(`${route}: ${unknown.join()}`).toMatch(/: (id,)?(workspaceId,)?emial$/)
  }
})

test('every route for programs rejects and names each unknown query parameter', async () => {
  const names = ['cursr', 'x[]', 'constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']
  const operations = (await operationsOf(api)).filter(({ isPublic }) => !isPublic)
  for (const { method, path, template, isSecured, example } of operations) {
    const response = await api.call(method, `${path}?${names.map((name) => `${name}=1`).join('&')}`, {
      body: example,
      ...(isSecured && { key: workspace.token }),
    })
    const { issues } = expectError(response, 400)
    const unknown = names.map((name) => ({ path: name, message: expect.stringMatching(/^unknown parameter/) }))
    expect({ method, template, issues }).toEqual({ method, template, issues: unknown })
  }
})

test('a valid body with an unknown query parameter changes nothing', async () => {
  const email = freshEmail()
  const { issues } = expectError(
    await api.call('POST', '/contacts?dryRun=true', { key: workspace.key, body: { email } }),
    400,
    'dryRun: unknown parameter',
  )
  expect(issues).toEqual([{ path: 'dryRun', message: 'unknown parameter' }])
  const { body } = await api.call('GET', `/contacts?email=${email}`, { key: workspace.key })
  expect(body).toEqual({ data: [], nextCursor: null })
})

const wrongTypes: Record<string, Record<string, string>> = {
  'no content type': { 'content-type': '' },
  text: { 'content-type': 'text/plain' },
  XML: { 'content-type': 'application/xml' },
  'a form': { 'content-type': 'application/x-www-form-urlencoded' },
  'a file': { 'content-type': 'multipart/form-data; boundary=x' },
  'another JSON': { 'content-type': 'application/vnd.api+json' },
  'garbage after the type': { 'content-type': 'application/json garbage' },
  'a tab in the type': { 'content-type': 'application/json\ttext/plain' },
  'a long type': { 'content-type': `application/${'x'.repeat(100)}` },
  'two types': { 'content-type': 'application/json, text/plain' },
}
test.each(Object.entries(wrongTypes))('every JSON route returns 415 for %s, and names it', async (_name, headers) => {
  const type = headers['content-type']
  const named = type ? `, not ${JSON.stringify(type.slice(0, 40))}` : ''
  for (const { response } of await sendEverywhere('{"email":"ada@example.com"}', headers))
    expectError(response, 415, `The content type must be application/json${named}`)
})

test('a route without a body accepts a JSON content type without a body', async () => {
  const headers = { 'content-type': 'application/json' }
  const issued = await api.create('/api-keys', workspace.key, { name: 'to be revoked' })
  const revoked = await api.call('DELETE', `/api-keys/${String(issued['id'])}`, { key: workspace.key, headers })
  expect(revoked.status).toBe(204)
  const list = await api.create('/lists', workspace.key, { name: 'List' })
  const campaign = await api.create('/campaigns', workspace.key, {
    name: 'Campaign',
    subject: 'Hello',
    listId: list['id'],
  })
  const sent = await api.call('POST', `/campaigns/${String(campaign['id'])}/send`, { key: workspace.key, headers })
  expectError(sent, 400, 'List has no subscribed recipients')
})

const limits = {
  '/contacts': 1_048_576,
  '/auth/login': 1_048_576,
  '/campaigns': 4 * 1_048_576,
  '/templates': 4 * 1_048_576,
  '/emails/batch': 4 * 1_048_576,
}
test.each(Object.entries(limits))('POST %s accepts %i bytes; one more returns 413', async (path, limit) => {
  const ofSize = (size: number) => `{"email":"${'a'.repeat(size - 12)}"}`
  expectError(await api.call('POST', path, { key: workspace.key, raw: ofSize(limit) }), 400)
  expectError(
    await api.call('POST', path, { key: workspace.key, raw: ofSize(limit + 1) }),
    413,
    'The body is too large',
  )
})

test('a public subscribe request accepts at most 64 KiB', async () => {
  const path = routes.find(({ template }) => template === '/public/lists/{id}/subscribe')?.path ?? ''
  expectError(await api.call('POST', path, { raw: `"${'a'.repeat(65_535)}"` }), 413)
})

/** Uses a real socket, because the tests check the connection too. */
function post(path: string, headers: Record<string, string>, chunks: Iterable<Buffer>) {
  return new Promise<{ status: number; text: string; connection: string | undefined }>((resolve, reject) => {
    const outgoing = request(`${server.url}${path}`, { method: 'POST', headers }, (response) => {
      buffer(response).then(
        (body) =>
          resolve({
            status: response.statusCode ?? 0,
            text: body.toString(),
            connection: response.headers.connection,
          }),
        reject,
      )
    })
    // The server closes the connection if the client continues to send.
    outgoing.on('error', (error) => outgoing.destroyed || reject(error))
    for (const chunk of chunks) outgoing.write(chunk)
    outgoing.end()
  })
}

test('a chunked body over the limit returns 413 and closes the connection', async () => {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${workspace.key}` }
  const chunks = Array.from({ length: 20 }, () => Buffer.alloc(65_536, '1'))
  expect(await post('/contacts', headers, chunks)).toEqual({
    status: 413,
    text: '{"statusCode":413,"message":"The body is too large","error":"Payload Too Large","code":"payload_too_large","docUrl":"https://crm.example.com/docs/errors#payload_too_large"}',
    connection: 'close',
  })
})

test('no timers remain after chunked bodies over the limit', async () => {
  const countTimers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = countTimers()
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${workspace.key}` }
  const chunks = Array.from({ length: 20 }, () => Buffer.alloc(65_536, '1'))
  for (let n = 0; n < 20; n++) await post('/contacts', headers, chunks)
  await waitUntil(() => countTimers() <= before, { describe: 'their timers are cleared' })
})

test('an error response stays small, even with long or many field names', async () => {
  const bodies = [
    `{"${'k'.repeat(900_000)}":"\\u0000"}`,
    `{"${'k'.repeat(900_000)}":1}`,
    `{${Array.from({ length: 9_000 }, (_, index) => `"${'k'.repeat(80)}${index}":1`).join()}}`,
  ]
  for (const raw of bodies) {
    const response = await api.call('POST', '/contacts', { key: workspace.key, raw })
    expectError(response, 400)
    expect(response.text.length).toBeLessThan(64_000)
  }
})

test.each(['k', 'kk'])('an error response quotes a long name of emoji without half of one: %s', async (start) => {
  const raw = `{"email":"${freshEmail()}","${start}${'🦉'.repeat(400)}":1}`
  const response = await api.call('POST', '/contacts', { key: workspace.key, raw })
  const { issues: [issue] = [] } = expectError(response, 400)
  expect(issue?.path).toMatch(/^k+(🦉)+…$/u)
})
