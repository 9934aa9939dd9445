/** Rules for every schema, parameter and header of the OpenAPI document. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { freshEmail, operationsOf, startTestApi } from './testing.ts'

interface Schema {
  $ref?: string
  type?: string | string[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  default?: unknown
  example?: unknown
  examples?: unknown
  description?: string
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: Schema | boolean
  anyOf?: Schema[]
}
interface Parameter {
  name: string
  in: string
  required: boolean
  description?: string
  example?: unknown
  examples?: unknown
  schema: Schema
}
interface Response {
  $ref?: string
  headers?: Record<string, { $ref: string }>
}
interface Operation {
  description?: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Record<string, { schema: Schema }> }
  responses: Record<string, Response>
}
type Paths = Record<string, Record<string, Operation>>
interface Document {
  paths: Paths
  webhooks: Paths
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Response>
    headers: Record<string, { description?: string; schema: Schema }>
  }
}

const api = useForFile(() => startTestApi({ environment: { METRICS_TOKEN: 'a-token-for-prometheus' } }))
let document: Document
let parameters: { where: string; parameter: Parameter }[]
/** Every schema with its place, such as `Deal.closedAt`. */
let schemas: [string, Schema][]
beforeAll(async () => {
  document = (await api.call<Document>('GET', '/openapi.json')).body
  const operations = [document.paths, document.webhooks].flatMap((paths) =>
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method.toUpperCase()} ${path}`, operation] as const),
    ),
  )
  parameters = operations.flatMap(([name, operation]) =>
    (operation.parameters ?? []).map((parameter) => ({ where: `${name} ${parameter.name}`, parameter })),
  )
  schemas = [
    ...Object.entries(document.components.schemas),
    ...operations.flatMap(([name, { requestBody }]) =>
      Object.values(requestBody?.content ?? {}).map(({ schema }) => [`${name} body`, schema] as [string, Schema]),
    ),
  ].flatMap(([name, schema]) => withInnerSchemas(name, schema))
})

function withInnerSchemas(name: string, schema: Schema): [string, Schema][] {
  const { properties = {}, items, additionalProperties, anyOf = [] } = schema
  const inner = [items, additionalProperties, ...anyOf].filter((one): one is Schema => typeof one === 'object')
  return [
    [name, schema],
    ...inner.flatMap((one) => withInnerSchemas(`${name}[]`, one)),
    ...Object.entries(properties).flatMap(([key, one]) => withInnerSchemas(`${name}.${key}`, one)),
  ]
}

const isNullable = ({ type, anyOf = [] }: Schema) =>
  (Array.isArray(type) && type.includes('null')) || anyOf.some((one) => one.type === 'null')

test('every schema, property, parameter and header has a description', () => {
  const descriptionOf = ({ description, $ref }: Schema) =>
    description ?? document.components.schemas[$ref?.split('/').at(-1) ?? '']?.description
  // Members of arrays and unions are described by the property around them.
  const named = schemas.filter(([name]) => /^\w+$|\.\w+$/.test(name))
  const places: [string, string | undefined][] = [
    ...named.map(([name, schema]): [string, string | undefined] => [name, descriptionOf(schema)]),
    ...parameters.map(({ where, parameter }): [string, string | undefined] => [where, parameter.description]),
    ...Object.entries(document.components.headers).map(([name, { description = '' }]): [string, string] => [
      name,
      description,
    ]),
  ]
  expect(places.length).toBeGreaterThan(700)
  expect(places.filter(([, description = '']) => !/^[A-Z0-9`][^]*\.$/.test(description))).toEqual([])
})

test('the description of a nullable property says what null means', () => {
  const nullable = schemas.filter(([name, schema]) => isNullable(schema) && !name.endsWith('[]'))
  expect(nullable.length).toBeGreaterThan(60)
  expect(nullable.filter(([, { description = '' }]) => !description.includes('`null`'))).toEqual([])
})

test('a body that may be left out is not required, and is not null', () => {
  const shownFor = (path: string) => document.paths[path]?.['post']?.requestBody
  expect(shownFor('/verify-email')).toMatchObject({
    required: false,
    content: { [postedForm]: { schema: { type: 'object' } } },
  })
  expect(shownFor('/contacts')).toMatchObject({ required: true })
})

const postedForm = 'application/x-www-form-urlencoded'

test('integers have no implicit bounds, and formats no pattern', () => {
  const shown = [...schemas, ...parameters.map(({ where, parameter }) => [where, parameter.schema] as [string, Schema])]
  const beyond = shown.filter(([name, { maximum, minimum }]) => {
    const isMeaningful = name.endsWith('.valueCents') && minimum === 0
    return minimum === Number.MIN_SAFE_INTEGER || (maximum === Number.MAX_SAFE_INTEGER && !isMeaningful)
  })
  expect(beyond).toEqual([])
  expect(shown.filter(([, { format, pattern = '' }]) => (format ? pattern : pattern.length > 50))).toEqual([])
})

test('query parameters show their type and default, and optional ones no example', () => {
  const named = (name: string) =>
    parameters.filter(({ parameter }) => parameter.name === name && parameter.in === 'query')
  const limit = { type: 'integer', minimum: 1, maximum: 100, default: 50 }
  expect(named('limit').length).toBeGreaterThan(20)
  for (const { where, parameter } of named('limit')) expect([where, parameter.schema]).toEqual([where, limit])
  const dryRun = { type: 'boolean', default: false }
  expect(named('dryRun').map(({ parameter }) => parameter.schema)).toEqual([dryRun, dryRun])
  const count = { type: 'boolean' }
  expect(named('count').map(({ parameter }) => parameter.schema)).toEqual([count, count])
  expect(named('tag').map(({ parameter }) => parameter.schema.type)).toEqual(['array', 'array', 'array', 'string'])
  for (const { where, parameter } of parameters.filter(({ parameter }) => !parameter.required)) {
    expect([where, JSON.stringify(parameter)]).toEqual([where, expect.not.stringContaining('"example')])
  }
})

test.each(['limit=1e1', 'limit= 5', 'limit=5.0', 'limit=0', 'limit=101', 'limit=', 'limit=1&limit=2'])(
  'the query %s stays invalid, although limit is documented as an integer',
  async (query) => {
    const { key } = await workspace()
    const { status, body } = await api.call('GET', `/contacts?${query.replace(' ', '%20')}`, { key })
    expect([status, body['issues']]).toEqual([400, [{ path: 'limit', message: expect.any(String) }]])
  },
)

test.each(['TRUE', '1', 'yes', ' true', '', 'false&dryRun=true'])(
  'dryRun=%s stays invalid, although it is documented as a boolean',
  async (value) => {
    const { key } = await workspace()
    const headers = { 'content-type': 'text/csv' }
    const { status, body } = await api.call('POST', `/contacts/import?dryRun=${encodeURI(value)}`, {
      key,
      raw: 'email\n',
      headers,
    })
    expect([status, body['message']]).toEqual([400, 'dryRun: must be true or false'])
  },
)

let signedUp: ReturnType<typeof api.signUp> | undefined
const workspace = () => (signedUp ??= api.signUp())

/** Headers that depend on the request, not only on the status. */
const conditional = ['idempotent-replayed', 'etag', 'retry-after']

test('every documented header is sent, with successes and with errors', async () => {
  const { key, token } = await workspace()
  const contact = await api.create('/contacts', key, { email: freshEmail() })
  const calls: [string, string, string, object][] = [
    ['POST', '/contacts', '/contacts', { key, body: { email: freshEmail() } }],
    ['POST', '/contacts', '/contacts', { key, body: {} }],
    ['GET', '/contacts', '/contacts', { key }],
    ['GET', '/contacts', '/contacts', {}],
    ['GET', '/contacts/{id}', `/contacts/${String(contact['id'])}`, { key }],
    ['GET', '/contacts/{id}', '/contacts/con_1', { key }],
    ['DELETE', '/contacts/{id}', `/contacts/${String(contact['id'])}`, { key: token }],
    [
      'POST',
      '/auth/signup',
      '/auth/signup',
      { body: { email: freshEmail(), password: 'a long sentence that is secret' } },
    ],
    ['GET', '/health', '/health', {}],
    ['GET', '/openapi.json', '/openapi.json', {}],
  ]
  for (const [method, template, path, call] of calls) {
    const { status, headers } = await api.call(method, path, call)
    const response = document.paths[template]?.[method.toLowerCase()]?.responses[status]
    const { headers: documented = {} } =
      document.components.responses[response?.$ref?.split('/').at(-1) ?? ''] ?? response ?? {}
    const names = Object.keys(documented).filter((name) => !conditional.includes(name))
    expect(names).toContain('x-request-id')
    expect([method, path, status, names.filter((name) => headers[name] === undefined)]).toEqual([
      method,
      path,
      status,
      [],
    ])
  }
})

test('every creation sends the documented headers', async () => {
  const { token } = await api.signUp()
  let created = 0
  for (const { method, path, template, example, hasBody, takesForm } of await operationsOf(api)) {
    if (method !== 'POST' || !hasBody || takesForm || template.endsWith('/import')) continue
    const { status, headers } = await api.call(method, path, { key: token, body: example })
    const { headers: documented = {} } = document.paths[template]?.['post']?.responses[status] ?? {}
    const names = Object.keys(documented).filter((name) => !conditional.includes(name))
    expect([template, status, names.filter((name) => headers[name] === undefined)]).toEqual([template, status, []])
    if (status === 201) created += 1
  }
  expect(created).toBeGreaterThan(7)
})

test('a replayed response is marked as documented', async () => {
  const { key } = await workspace()
  const call = { key, body: { name: 'Newsletter' }, headers: { 'idempotency-key': 'once' } }
  const first = await api.call('POST', '/lists', call)
  const second = await api.call('POST', '/lists', call)
  expect([first.headers['idempotent-replayed'], second.headers['idempotent-replayed']]).toEqual([undefined, 'true'])
  expect(second.headers['location']).toBe(first.headers['location'])
  expect(Object.keys(document.paths['/lists']?.['post']?.responses['201']?.headers ?? {})).toContain(
    'idempotent-replayed',
  )
})

test('a shared error response has the header that belongs to its status', () => {
  const own = {
    Unauthorized: 'www-authenticate',
    UnsupportedMediaType: 'accept-encoding',
    TooManyRequests: 'retry-after',
    ServiceUnavailable: 'retry-after',
  }
  const common = ['x-request-id', 'x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
  for (const [name, header] of Object.entries(own)) {
    const headers = Object.keys(document.components.responses[name]?.headers ?? {})
    expect([name, headers]).toEqual([name, [header, ...common]])
  }
})
