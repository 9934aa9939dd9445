/** Every route of the API's own description, called with what fits it and with what does not. */
import fc from 'fast-check'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ErrorBody } from '../src/http/error-handler.ts'
import { type Parameter, pathsOf, type Pool, type Schema, valuesOf } from './fuzz.ts'
import { type ApiResponse, freshEmail, type Json, password, startTestApi } from './testing.ts'

interface DocumentedOperation {
  method: string
  template: string
  security?: unknown[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema; example?: Json }> }
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>
}

const timeout = 180_000
const runsPerOperation = 40

const api = useForFile(() => startTestApi({ environment: { LOG_LEVEL: 'trace' } }))
const workspace = useForFile(() => api.signUp())
let schemas: Record<string, Schema>
let operations: DocumentedOperation[]
const pool: Pool = new Map()
const secrets: string[] = [password]
beforeAll(async () => {
  const { body } = await api.call<{
    components: { schemas: Record<string, Schema> }
    paths: Record<string, Record<string, Omit<DocumentedOperation, 'method' | 'template'>>>
  }>('GET', '/openapi.json')
  schemas = body.components.schemas
  operations = Object.entries(body.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), template })),
  )
  await fillPool()
})

/** Records of each kind that an example body makes, made twice, as some need others; then what the listings tell. */
async function fillPool() {
  secrets.push(workspace.token, workspace.key)
  const makers = operations.filter(({ method, security }) => method === 'POST' && security)
  for (const { template, parameters = [], requestBody } of [...makers, ...makers]) {
    const example = requestBody?.content['application/json']?.example
    const email = example && 'email' in example && { email: freshEmail() }
    const path = withKnownIds(
      parameters.reduce((filled, { name, example: id = '' }) => filled.replace(`{${name}}`, id), template),
    )
    const call = {
      key: workspace.key,
      ...(example && { body: JSON.parse(withKnownIds(JSON.stringify({ ...example, ...email }))) as Json }),
    }
    const { body, text } = await api.call<Json | undefined>('POST', path, call)
    secrets.push(...[body?.['key'], body?.['secret']].filter((secret) => typeof secret === 'string'))
    addIds(text)
  }
  for (const { method, template, security } of operations) {
    if (method === 'GET' && security && !template.includes('{'))
      addIds((await api.call('GET', template, { key: workspace.key })).text)
  }
}

/** Examples name nobody's records: here they name ours. */
const withKnownIds = (text: string) =>
  text.replaceAll(/([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}/g, (id, prefix: string) => pool.get(prefix)?.[0] ?? id)

function addIds(text: string) {
  for (const [id, prefix = ''] of text.matchAll(/([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}/g)) {
    // Names of this very credential, and of who owns it, are kept out of reach.
    if (!['wsp', 'usr', 'ses', 'key'].includes(prefix))
      pool.set(prefix, [...new Set([...(pool.get(prefix) ?? []), id])].slice(-20))
  }
}

const validators = new Map<string, z.ZodType>()

/** What an answer's body must be, as the description has it. */
function validatorOf(schema: Schema): z.ZodType {
  const text = JSON.stringify({ ...schema, $defs: schemas }).replaceAll('#/components/schemas/', '#/$defs/')
  const known = validators.get(text) ?? z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0])
  validators.set(text, known)
  return known
}

const isPage = (template: string) =>
  operations.some((operation) => operation.template === template && operation.responses['200']?.content?.['text/html'])

/** What is wrong with an answer; undefined when nothing is. */
function findMismatch(
  { responses, template }: DocumentedOperation,
  response: ApiResponse<unknown>,
): string | undefined {
  const { status, headers, body, text } = response
  if (status >= 500) return `it failed: ${text}`
  const type = (headers['content-type'] ?? '').split(';')[0] ?? ''
  if (status >= 400) {
    // A page tells people what is wrong in its own words.
    if (type === 'text/html' && isPage(template)) return undefined
    const { success } = ErrorBody.safeParse(body)
    return success && (body as ErrorBody).statusCode === status
      ? undefined
      : `no error as every route gives it: ${text}`
  }
  const declared = responses[status]
  if (!declared) return `the status ${status} is not declared`
  if (!declared.content) return text === '' ? undefined : `a body where none is declared: ${text}`
  const content = declared.content[type]
  if (!content) return `the type ${type} is not declared`
  const problem = type === 'application/json' && content.schema && validatorOf(content.schema).safeParse(body).error
  return problem ? `not as declared: ${problem.message} in ${text}` : undefined
}

function requestsFor({ template, parameters = [], requestBody }: DocumentedOperation) {
  const source = { schemas, pool }
  const type = Object.keys(requestBody?.content ?? {})[0]
  const body = requestBody?.content['application/json']?.schema
  return fc.record({
    path: pathsOf(
      source,
      template,
      parameters.filter((parameter) => parameter.in !== 'header' && parameter.name !== 'cursor'),
    ),
    raw: body
      ? valuesOf(source, body).map((value) => JSON.stringify(value))
      : fc.constantFrom(
          undefined,
          ...(type ? ['', 'email\na@example.org\n', 'password=a+long+sentence&name=%00%ff'] : []),
        ),
    type: fc.constant(type ?? 'application/json'),
  })
}

/** Calls an operation at random with a credential of each time. Answers what statuses it gave. */
async function callRandomly(operation: DocumentedOperation, credential: () => Promise<string>): Promise<Set<number>> {
  const name = `${operation.method} ${operation.template}`
  const seen = new Set<number>()
  const property = fc.asyncProperty(requestsFor(operation), async ({ path, raw, type }) => {
    const response = await api.call(operation.method, path, {
      ...(operation.security && { key: await credential() }),
      ...(raw !== undefined && { raw, headers: { 'content-type': type } }),
    })
    seen.add(response.status)
    if (response.status === 201) addIds(response.text)
    expect([name, findMismatch(operation, response)]).toEqual([name, undefined])
  })
  await fc.assert(property, { seed: 20_261_121, numRuns: runsPerOperation, endOnFailure: true })
  return seen
}

/** Of a workspace of its own, which may come to an end. */
async function createOwner(): Promise<string> {
  const { token, key } = await api.signUp()
  secrets.push(token, key)
  return token
}

test('whatever is sent to whichever route, no answer is a failure, and each is as it is declared', {
  timeout,
}, async () => {
  const statuses: Set<number>[] = []
  // What takes away comes last: there is something left for the others to act on.
  const isDelete = ({ method }: DocumentedOperation) => Number(method === 'DELETE')
  for (const operation of operations.toSorted((a, b) => isDelete(a) - isDelete(b))) {
    const seen = await callRandomly(operation, async () => workspace.key)
    // What an ADMIN may not do at all, an OWNER may.
    statuses.push([...seen].every((status) => status === 403) ? await callRandomly(operation, createOwner) : seen)
  }
  // It got further than the doors: most routes also did what they are for.
  const succeeded = statuses.filter((seen) => [...seen].some((status) => status < 400))
  expect(succeeded.length).toBeGreaterThan(operations.length * 0.6)
})

/** Values that no field of such a schema takes. */
function invalidValues({ type, maxLength, maxItems, anyOf = [] }: Schema): unknown[] {
  const [one, other] = anyOf
  if (one && other?.type === 'null') return invalidValues(one).filter((value) => value !== null)
  if (type === 'string') return [5, true, null, [], {}, '\u0000', '\ud800', 'x'.repeat((maxLength ?? 1_000_000) + 1)]
  if (type === 'integer' || type === 'number') return ['5', true, null, [], {}]
  if (type === 'boolean') return ['true', 1, null, [], {}]
  if (type === 'array')
    return ['x', 5, true, null, {}, Array.from({ length: (maxItems ?? 9_000) + 1 }, (_, index) => `${index}`)]
  return type === 'object' ? ['x', 5, true, null, []] : []
}

/** Every body of the description's examples with one field that is wrong, and the name of that field. */
function* invalidBodies({ requestBody }: DocumentedOperation): Generator<{ field: string; body: Json }> {
  const { schema, example } = requestBody?.content['application/json'] ?? {}
  for (const [field, fieldSchema] of Object.entries(schema?.properties ?? {})) {
    for (const value of invalidValues(fieldSchema)) yield { field, body: { ...example, [field]: value } }
  }
}

test('each field of each body refuses what is of another type or too large, by its name', { timeout }, async () => {
  let tried = 0
  for (const operation of operations) {
    const { method, template, parameters = [], security } = operation
    const path = parameters
      .filter((parameter) => parameter.in === 'path')
      .reduce((filled, { name, example = '' }) => {
        return filled.replace(`{${name}}`, pool.get(example.slice(0, 3))?.[0] ?? example)
      }, template)
    for (const { field, body } of invalidBodies(operation)) {
      const response = await api.call(method, path, { body, ...(security && { key: workspace.key }) })
      const issues = (response.body['issues'] ?? []) as { path: string }[]
      // A record in the path that is not there is told first.
      const reported = response.status === 404 ? field : issues.find(({ path }) => path.split('.')[0] === field)?.path
      expect(`${method} ${template} ${response.status} ${reported?.split('.')[0]}`).toMatch(
        new RegExp(`^${method} \\S+ 40[04] ${field}$`),
      )
      tried += 1
    }
  }
  expect(tried).toBeGreaterThan(200)
})

/** What a parameter must refuse, as queries. */
function invalidQueries({ name, schema }: Parameter): string[] {
  const twice = JSON.stringify(schema).includes('"array"') ? [] : [`${name}=a&${name}=b`]
  const hasForm = schema.enum || schema.format === 'date-time' || ['limit', 'cursor', 'listId'].includes(name)
  const formless = hasForm ? [`${name}=%00`, `${name}=nope`, `${name}=-1`] : []
  return [...twice, `${name}[]=a`, `${name}[a]=b`, ...formless]
}

test('each query parameter refuses to come twice or as an array, and one with a form another form', {
  timeout,
}, async () => {
  for (const { method, template, parameters = [], security } of operations) {
    const path = template.replace(/\{\w+\}/g, 'x')
    for (const query of parameters.filter((parameter) => parameter.in === 'query').flatMap(invalidQueries)) {
      const { status } = await api.call(method, `${path}?${query}`, security && { key: workspace.key })
      expect(`${method} ${template}?${query}: ${status}`).toMatch(/: 4(00|04|03|15)$/)
    }
  }
})

test('in all that was logged of it, at every level, is no secret', () => {
  const log = api.takeLog().join('')
  expect(log.split('\n').length).toBeGreaterThan(operations.length * runsPerOperation)
  expect(log).not.toMatch(/"level":(50|60)/)
  expect(secrets.length).toBeGreaterThan(5)
  for (const secret of secrets) expect(log).not.toContain(secret)
})
