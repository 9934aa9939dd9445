/** Clients write the same request in many ways that HTTP allows. On every route, the response is that of the plain one. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { createRecords, type Pool, withKnownIds } from './records.ts'
import { type Call, freshAddress, type Operation, operationsOf, startTestApi } from './testing.ts'

const api = useForFile(() => startTestApi({ environment: { QUOTA_MAILS_PER_ADDRESS: '100' } }))
const workspace = useForFile(() => api.signUp())
let operations: Operation[]
let withBody: Operation[]
let withJson: Operation[]
let pool: Pool
let server: { url: string; port: number }
beforeAll(async () => {
  operations = await operationsOf(api)
  withBody = operations.filter(({ example, takesForm }) => takesForm || (example && Object.keys(example).length > 0))
  withJson = withBody.filter(({ takesForm }) => !takesForm)
  pool = (await createRecords(api, workspace.key, operations)).pool
  server = await api.listen()
  // The second request of a kind is the plain one: the first may create what the others find.
  for (const operation of operations) await call(operation)
})

/** A deletion has unknown ids, so that each request finds the same. */
const pathOf = ({ method, path }: Operation) => (method === 'DELETE' ? path : withKnownIds(pool, path))
const bodyOf = ({ example, takesForm }: Operation) =>
  takesForm ? 'token=x&email=ada%40example.com' : withKnownIds(pool, JSON.stringify(example ?? {}))
const typeOf = ({ takesForm }: Operation) => (takesForm ? 'application/x-www-form-urlencoded' : 'application/json')

interface Comparable {
  status: number
  type: string | undefined
  shape: unknown
}

/** Sends the request of the example, changed by `variant`. */
async function call(operation: Operation, variant: Call & { method?: string; path?: string } = {}) {
  const { method = operation.method, path = pathOf(operation), ...more } = variant
  const response = await api.call<unknown>(method, path, {
    ...(operation.isSecured && { key: workspace.key }),
    ...(operation.hasBody && { raw: bodyOf(operation) }),
    ...more,
    headers: { 'content-type': typeOf(operation), ...more.headers },
  })
  return { ...response, ...comparable(response.status, response.headers['content-type'], response.body) }
}

function comparable(status: number, type: string | undefined, body: unknown): Comparable {
  return { status, type, shape: shapeOf(body) }
}

/** The keys of objects. Errors are compared by their texts. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return 'value'
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])]
  if ('statusCode' in value) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shapeOf(item)]))
}

const nameOf = ({ method, template }: Operation) => `${method} ${template}`

async function expectSame(
  tried: readonly Operation[],
  send: (operation: Operation) => Promise<Comparable>,
): Promise<void> {
  expect(tried.length).toBeGreaterThan(20)
  const differences: unknown[] = []
  for (const operation of tried) {
    const { status, type, shape } = await call(operation)
    const sent = await send(operation)
    const got = { status: sent.status, type: sent.type, shape: sent.shape }
    if (JSON.stringify(got) !== JSON.stringify({ status, type, shape }))
      differences.push([nameOf(operation), { status, type, shape }, got])
  }
  expect(differences).toEqual([])
}

test('an X-Request-Id is returned, and changes nothing else', async () => {
  await expectSame(operations, async (operation) => {
    const response = await call(operation, { headers: { 'x-request-id': 'walk:1/a=b' } })
    expect([nameOf(operation), response.headers['x-request-id']]).toEqual([nameOf(operation), 'walk:1/a=b'])
    return response
  })
})

test('percent-encoded characters of a path mean the characters', async () => {
  const encode = (path: string) => path.replace(/[a-z_](?=[^/]*$)/, (letter) => `%${letter.charCodeAt(0).toString(16)}`)
  await expectSame(operations, (operation) => call(operation, { path: encode(pathOf(operation)) }))
})

test('a byte order mark before a body is ignored', async () => {
  await expectSame(withJson, (operation) => call(operation, { raw: `\uFEFF${bodyOf(operation)}` }))
})

test('HEAD returns the status and headers of GET, without a body', async () => {
  const gets = operations.filter(({ method, path }) => method === 'GET' && path !== '/metrics')
  for (const operation of gets) {
    const [get, head] = [await call(operation), await call(operation, { method: 'HEAD' })]
    const toComparable = ({ status, headers }: typeof get) => [
      nameOf(operation),
      status,
      namesOf(headers),
      headers['etag'],
    ]
    expect(toComparable(head)).toEqual(toComparable(get))
    expect(head.text).toBe('')
  }
})

/** RFC 9110: HEAD may leave out what only the content tells. */
const namesOf = (headers: object) =>
  Object.keys(headers)
    .filter((name) => !['content-length', 'transfer-encoding'].includes(name))
    .toSorted()

/** Others repeat these URLs, with a slash too: see `repair-url.ts`. */
const repaired = /^\/(?:public\/(?:unsubscribe|preferences)|mail-events\/.+)$/

test('a slash after the URL of an opt-out or of a mail hook is ignored', async () => {
  const found = operations.filter(({ path, template }) => path !== '/mail-events' && repaired.test(template))
  for (const operation of found) {
    const [plain, slashed] = [await call(operation), await call(operation, { path: `${pathOf(operation)}/` })]
    expect([nameOf(operation), slashed.status]).toEqual([nameOf(operation), plain.status])
  }
  expect(found).toHaveLength(5)
})

/** RFC 3986: a different path. And `/contacts/` may be a contact whose id is empty by mistake: a page would hide that. */
test('a path with a trailing slash is a 404 that names the path without it', async () => {
  for (const operation of operations.filter(({ path, template }) => path !== '/' && !repaired.test(template))) {
    const path = pathOf(operation).split('?', 1)[0] ?? ''
    const { status, body } = await call(operation, { path: `${path}/` })
    const message = `Route not found: use ${path}, without the slash at the end`
    expect([nameOf(operation), status, body]).toEqual([
      nameOf(operation),
      404,
      expect.objectContaining({ code: 'not_found', message }),
    ])
  }
})

/** Sends a request on a socket. With `isExpecting`, the body follows after 100 (Continue). */
async function sendChunked(operation: Operation, isExpecting: boolean): Promise<Comparable> {
  const outgoing = request(`${server.url}${pathOf(operation)}`, {
    method: operation.method,
    headers: {
      'x-forwarded-for': freshAddress(),
      'content-type': typeOf(operation),
      'transfer-encoding': 'chunked',
      ...(operation.isSecured && { authorization: `Bearer ${workspace.key}` }),
      ...(isExpecting && { expect: '100-continue' }),
    },
  })
  const responded = once(outgoing, 'response') as Promise<[IncomingMessage]>
  if (isExpecting) {
    outgoing.flushHeaders()
    await once(outgoing, 'continue')
  }
  for (const chunk of bodyOf(operation).match(/.{1,7}/gsu) ?? []) outgoing.write(chunk)
  outgoing.end()
  const [response] = await responded
  const body = await text(response)
  const type = response.headers['content-type']
  return comparable(response.statusCode ?? 0, type, type?.startsWith('application/json') ? JSON.parse(body) : body)
}

test.each([
  ['in chunks', false],
  ['in chunks, after 100 (Continue)', true],
])('a body that is sent %s is the same body', async (_name, isExpecting) => {
  await expectSame(withBody, (operation) => sendChunked(operation, isExpecting))
})
