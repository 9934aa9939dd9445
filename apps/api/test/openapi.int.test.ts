import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { createResponseCheck } from './documented-responses.ts'
import { operationsOf, startTestApi, type ApiResponse } from './testing.ts'

interface Parameter {
  name: string
  in: string
  required: boolean
  example?: string
  schema: object
}
interface DocumentedOperation {
  operationId?: string
  summary?: string
  description?: string
  tags?: string[]
  security: object[]
  'x-required-role'?: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Record<string, { schema: object; example?: unknown }> }
  responses: Record<string, Described & { $ref?: string }>
}
interface Described {
  description: string
  headers?: Record<string, { required?: boolean }>
  content?: Record<string, { schema: { $ref?: string } }>
}
interface Document {
  openapi: string
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  tags: { name: string }[]
  paths: Record<string, Record<string, DocumentedOperation>>
  components: {
    schemas: Record<string, object>
    securitySchemes: Record<string, object>
    responses: Record<string, Described>
    headers: Record<string, object>
  }
}

const api = useForFile(() => startTestApi({ environment: { METRICS_TOKEN: 'a-token-for-prometheus' } }))
let openApi: ApiResponse<Document>
let operations: (DocumentedOperation & { name: string; template: string })[]
beforeAll(async () => {
  openApi = await api.call<Document>('GET', '/openapi.json')
  operations = Object.entries(openApi.body.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      name: `${method.toUpperCase()} ${template}`,
      template,
    })),
  )
})

test('GET /openapi.json: OpenAPI 3.1 with title, version and server', () => {
  expect(openApi).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } })
  expect(openApi.body).toMatchObject({
    openapi: '3.1.0',
    info: {
      title: 'Rapport',
      version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      description: expect.stringContaining('405'),
    },
    servers: [{ url: 'https://crm.example.com' }],
    components: {
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: expect.stringContaining('Authorization: Bearer') },
      },
    },
    security: [{ bearer: [] }],
  })
  expect(Object.keys(openApi.body).toSorted()).toEqual(
    ['openapi', 'info', 'servers', 'tags', 'paths', 'webhooks', 'components', 'security'].toSorted(),
  )
})

/** Parses Fastify's route tree, in which the indentation of a line shows its parent. */
function registeredRoutes() {
  const parents: string[] = []
  return api.app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap((line) => {
      const [, indentation = '', part = '', methods = ''] =
        /^((?:│? +)*[├└]── )(\S+)(?: \(([\w, ]+)\))?$/.exec(line) ?? []
      const depth = indentation.length / 4
      parents[depth] = `${depth > 1 ? parents[depth - 1] : ''}${part}`
      const path = parents[depth]?.replace(/:\w+(\|:\w+)*/g, '{}')
      return methods ? methods.split(', ').map((method) => `${method} ${path}`) : []
    })
}

test('the document and the router have the same routes', () => {
  const hidden = /^(GET \/docs(\/.*)?|GET \/llms(-full)?\.txt|HEAD .*|OPTIONS \/?\*|(GET|DELETE) \/mcp)$/
  const registered = registeredRoutes().filter((route) => !hidden.test(route))
  expect(registered.length).toBeGreaterThan(25)
  // The printed tree merges parameter names, so compare paths without them.
  const described = operations.map(({ name }) => name.replace(/\{\w+\}/g, '{}'))
  expect(described.toSorted()).toEqual(registered.toSorted())
})

test('every operationId such as contacts.create is unique and listed in a file', async () => {
  const operationIds = operations.map(({ operationId = '' }) => operationId)
  for (const { name, operationId } of operations) {
    expect([name, operationId]).toEqual([name, expect.stringMatching(/^[a-z][a-zA-Z]+\.[a-z][a-zA-Z]+$/)])
  }
  expect(new Set(operationIds).size).toBe(operations.length)
  // Generated clients name their functions by it: renaming or removing one is a breaking change.
  await expect(`${operationIds.toSorted().join('\n')}\n`).toMatchFileSnapshot('operation-ids.txt')
})

test('every operation has a unique summary, a description and one tag', () => {
  const headings = openApi.body.tags.map(({ name }) => name)
  for (const { name, summary, description, tags, responses } of operations) {
    expect(`${name}: ${summary}`).toMatch(/: \S.{5,}/)
    expect(`${name}: ${description}`).toMatch(/: [A-Z`].+\.$/s)
    expect([name, tags?.length, headings]).toEqual([name, 1, expect.arrayContaining(tags ?? [])])
    const statuses = Object.keys(responses).toSorted()
    expect(`${name}: ${statuses.join()}`).toMatch(/: (200,202|20[0124]|30[23]),(201,|304,)?(4\d\d,)+500,503$/)
    for (const [status, response] of Object.entries(responses)) {
      expect(`${name} ${status}: ${resolved(response).description}`).not.toMatch(/: (Default Response)?$/)
    }
  }
  expect(new Set(operations.map(({ summary }) => summary)).size).toBe(operations.length)
})

test('only the listed operations require no credential', () => {
  const open = operations.filter(({ security }) => security.length === 0).map(({ name }) => name)
  const pages = [
    '/accept-invite',
    '/f/{id}',
    '/forgot-password',
    '/public/preferences',
    '/public/subscriptions/confirm',
    '/public/tracking/confirm',
    '/public/unsubscribe',
    '/reset-password',
    '/verify-email',
  ]
  const others = [
    ...['', 'health', 'openapi.json', 'ready', 'tls-allowed'].map((name) => `GET /${name}`),
    'GET /embed/form.js',
    'GET /f/{id}/thanks',
    'GET /public/campaigns/{id}/web',
    'GET /public/click',
    'GET /public/forms/{id}',
    'GET /public/open',
    'POST /auth/accept-invite',
    'POST /auth/forgot-password',
    'POST /auth/login',
    'POST /auth/reset-password',
    'POST /auth/signup',
    'POST /auth/verify-email',
    'POST /mail-events/{provider}/{token}',
    'POST /public/forms/{id}/submit',
    'POST /public/lists/{id}/subscribe',
    'POST /public/subscriptions/undo-unsubscribe',
  ]
  const expected = [...pages.flatMap((path) => [`GET ${path}`, `POST ${path}`]), ...others]
  expect(open.toSorted()).toEqual(expected.toSorted())
  for (const { name, security, 'x-required-role': role } of operations) {
    const credential = name === 'GET /metrics' ? 'metricsToken' : 'bearer'
    expect([name, security]).toEqual([name, open.includes(name) ? [] : [{ [credential]: [] }]])
    const isSecured = security.length > 0 && name !== 'GET /metrics'
    expect([name, role !== undefined]).toEqual([name, isSecured])
  }
})

test('a role below `x-required-role` is refused', async () => {
  const workspace = await api.signUp()
  const keyBelow: Record<string, string> = {
    MEMBER: await api.issueKey(workspace.token, 'VIEWER'),
    ADMIN: await api.issueKey(workspace.token, 'MEMBER'),
    OWNER: workspace.key,
  }
  const refused: unknown[] = []
  const expected: unknown[] = []
  for (const { method, path, template } of await operationsOf(api)) {
    const role = openApi.body.paths[template]?.[method.toLowerCase()]?.['x-required-role'] ?? ''
    const key = keyBelow[role]
    if (!key) continue
    refused.push([method, template, (await api.call(method, path, { key })).status])
    expected.push([method, template, 403])
  }
  expect(refused).toEqual(expected)
})

const resolved = (response: Described & { $ref?: string }): Described =>
  response.$ref === undefined
    ? response
    : (openApi.body.components.responses[response.$ref.replace('#/components/responses/', '')] as Described)

test('every error response has the schema Error', () => {
  for (const { name, responses } of operations) {
    for (const [status, response] of Object.entries(responses).filter(([status]) => status >= '400')) {
      if (/^(GET \/ready 503|POST \/mcp 40[04])$/.test(`${name} ${status}`)) continue
      const schema = resolved(response).content?.['application/json']?.schema
      expect([name, status, schema]).toEqual([name, status, { $ref: '#/components/schemas/Error' }])
    }
  }
})

test('every operation documents its errors', () => {
  const unlimited = ['GET /health', 'GET /ready', 'GET /metrics', 'GET /tls-allowed']
  const passwordRoutes = ['/auth/login', '/auth/accept-invite', '/accept-invite', '/auth/verify-email', '/verify-email']
  const unauthorizedRoutes = [...passwordRoutes, '/mail-events/{provider}/{token}'].map((path) => `POST ${path}`)
  for (const { name, responses, security, template, requestBody } of operations) {
    const expected = [
      ...(security.length > 0 || unauthorizedRoutes.includes(name) ? ['401'] : []),
      ...(template.includes('{') ? ['404'] : []),
      ...(requestBody ? ['400', '413', '415'] : []),
      ...(unlimited.includes(name) ? [] : ['429']),
    ]
    const documented = Object.keys(responses).filter((status) => /401|429/.test(status) || expected.includes(status))
    expect([name, documented]).toEqual([name, expected.toSorted()])
  }
})

test('an undocumented status or header fails the test that receives it', async () => {
  const expectDocumented = createResponseCheck(api.app)
  expectDocumented('GET', '/contacts/con_1?x=1', { status: 404, headers: { 'x-request-id': 'r' } })
  expectDocumented('GET', '/nowhere', { status: 418, headers: { etag: '"x"' } })
  const receive = (status: number, headers = {}) => expectDocumented('GET', '/contacts/con_1', { status, headers })
  expect(() => receive(418)).toThrow('GET /contacts/{id} returned 418, which')
  expect(() => receive(404, { etag: '"x"' })).toThrow('GET /contacts/{id} returned 404 with etag, which')
})

test('every path parameter is declared with a well-formed example', () => {
  for (const { name, template, parameters = [] } of operations) {
    const declared = parameters.filter((parameter) => parameter.in === 'path')
    expect([name, declared.map((parameter) => `{${parameter.name}}`)]).toEqual([name, template.match(/\{\w+\}/g) ?? []])
    for (const { required, example } of declared) {
      expect([name, required, example]).toEqual([
        name,
        true,
        expect.stringMatching(/^([a-z]{3}_[0-9a-hjkmnp-tv-z]{26}|vip|ses)$/),
      ])
    }
  }
})

test('every listing documents paging, and every authenticated POST Idempotency-Key', () => {
  for (const { name, parameters = [], responses, security } of operations) {
    const names = parameters.map((parameter) => parameter.name)
    const isListing = /schemas\/\w+Page"/.test(JSON.stringify(responses))
    const paging = ['limit', 'cursor', 'sort'].filter((parameter) => names.includes(parameter))
    // Event types have no time of creation to sort by.
    expect([name, paging.length]).toEqual([name, isListing ? (name === 'GET /event-types' ? 2 : 3) : 0])
    const isRepeatable = security.length > 0 ? /^POST (?!\/(mcp|auth\/))/.test(name) : name.endsWith('/submit')
    expect([name, names.includes('Idempotency-Key')]).toEqual([name, isRepeatable])
  }
})

test('every body has a valid example, except for unknown records', async () => {
  const workspace = await api.signUp()
  const withBody = (await operationsOf(api)).filter(({ hasBody, takesForm }) => hasBody && !takesForm)
  expect(withBody.length).toBeGreaterThan(6)
  for (const { method, path, template, example } of withBody) {
    const { status, body } = await api.call(method, path, { key: workspace.key, body: example })
    const issues = (body?.['issues'] ?? []) as { message: string }[]
    expect(`${method} ${template}: ${status}`).toMatch(
      /: (200|201|202|400|401|404)$|\/import: 415$|^DELETE \/workspace: 403$/,
    )
    expect([template, issues.filter(({ message }) => !message.endsWith('not found'))]).toEqual([template, []])
  }
})

test('routes without a body document none', () => {
  const bodyless = operations.filter(({ name }) =>
    /^(GET|DELETE(?! \/(workspace|suppressions\/{id})$)) |\/(send|logout|pause|resume|cancel|resend)$/.test(name),
  )
  for (const { name, requestBody } of bodyless) expect([name, requestBody]).toEqual([name, undefined])
})

test('every JSON body has a named schema', () => {
  const schemaOf = ({ content }: Pick<Described, 'content'> = {}) => content?.['application/json']?.schema ?? []
  const requests = operations.flatMap(({ requestBody }) => schemaOf(requestBody as Described | undefined))
  const requestName = /^#\/components\/schemas\/\w+(Create|Update|Upsert|Request)$/
  expect(requests.filter((schema) => !requestName.test(('$ref' in schema && schema.$ref) || ''))).toEqual([])
  const bodies = operations.flatMap(({ responses }) =>
    Object.values(responses).flatMap((one) => schemaOf(resolved(one))),
  )
  expect(bodies.length).toBeGreaterThan(500)
  expect(bodies.filter((schema) => !('$ref' in schema))).toEqual([])
})

test('every component is used and unique', () => {
  const { schemas, responses, headers } = openApi.body.components
  const references = [...openApi.text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference = '']) => reference)
  const defined = Object.entries({ schemas, responses, headers }).flatMap(([kind, named]) =>
    Object.keys(named).map((name) => `#/components/${kind}/${name}`),
  )
  expect([...new Set(references)].toSorted()).toEqual(defined.toSorted())
  expect(Object.keys(schemas).filter((name) => /Input|Query|Change|\d$/.test(name))).toEqual([])
  const shapes = Object.values(schemas).map((schema) => JSON.stringify(schema))
  expect(new Set(shapes).size).toBe(shapes.length)
})
