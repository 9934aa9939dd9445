/** Calls every route of the OpenAPI document with valid and invalid values. */
import fc from 'fast-check'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { chooseSeed, countRuns, isFullRun } from '@rapport/testing/runs.ts'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ErrorBody } from '../src/http/error-handler.ts'
import { type Parameter, pathsOf, type Schema, valuesOf } from './fuzz.ts'
import { addIds, createRecords, type Pool } from './records.ts'
import { type ApiResponse, type Json, operationsOf, password, startTestApi } from './testing.ts'

interface DocumentedOperation {
  method: string
  template: string
  isSecured: boolean
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema; example?: Json }> }
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>
}

const seed = chooseSeed(20_261_121)
const runsPerOperation = countRuns({ gate: 4, full: 200 })

const api = useForFile(() => startTestApi({ environment: { LOG_LEVEL: 'trace' } }))
const workspace = useForFile(() => api.signUp())
let schemas: Record<string, Schema>
let operations: DocumentedOperation[]
let pool: Pool
const secrets: string[] = [password]
beforeAll(async () => {
  const { body } = await api.call<{
    components: { schemas: Record<string, Schema> }
    paths: Record<
      string,
      Record<string, Omit<DocumentedOperation, 'method' | 'template' | 'isSecured'> & { security: unknown[] }>
    >
  }>('GET', '/openapi.json')
  schemas = body.components.schemas
  operations = Object.entries(body.paths).flatMap(([template, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      method: method.toUpperCase(),
      template,
      isSecured: operation.security.length > 0,
    })),
  )
  const records = await createRecords(api, workspace.key, await operationsOf(api))
  pool = records.pool
  secrets.push(workspace.token, workspace.key)
  secrets.push(
    ...records.created.flatMap(({ key, secret }) => [key, secret].filter((text) => typeof text === 'string')),
  )
})

const validators = new Map<string, z.ZodType>()

/** Returns a validator for a documented response body. */
function validatorOf(schema: Schema): z.ZodType {
  const key = JSON.stringify(schema)
  const known = validators.get(key)
  if (known) return known
  const text = JSON.stringify({ ...schema, $defs: schemas }).replaceAll('#/components/schemas/', '#/$defs/')
  const made = z.fromJSONSchema(JSON.parse(text) as Parameters<typeof z.fromJSONSchema>[0])
  validators.set(key, made)
  return made
}

const isPage = (template: string) =>
  operations.some((operation) => operation.template === template && operation.responses['200']?.content?.['text/html'])

/** Describes how a response differs from the document; undefined if it matches. */
function findMismatch(
  { responses, template }: DocumentedOperation,
  response: ApiResponse<unknown>,
): string | undefined {
  const { status, headers, body, text } = response
  if (status >= 500) return `server error: ${text}`
  const type = (headers['content-type'] ?? '').split(';')[0] ?? ''
  if (status >= 400) {
    // Error pages have their own texts.
    if (type === 'text/html' && isPage(template)) return undefined
    const { success } = ErrorBody.safeParse(body)
    return success && (body as ErrorBody).statusCode === status ? undefined : `not the common error body: ${text}`
  }
  const declared = responses[status]
  if (!declared) return `the status ${status} is not declared`
  if (!declared.content) return text === '' ? undefined : `the body is not declared: ${text}`
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

/** Calls an operation with random requests, each with a new `credential()`. Returns the statuses. */
async function callRandomly(operation: DocumentedOperation, credential: () => Promise<string>): Promise<Set<number>> {
  const name = `${operation.method} ${operation.template}`
  const seen = new Set<number>()
  const property = fc.asyncProperty(requestsFor(operation), async ({ path, raw, type }) => {
    const response = await api.call(operation.method, path, {
      ...(operation.isSecured && { key: await credential() }),
      ...(raw !== undefined && { raw, headers: { 'content-type': type } }),
    })
    seen.add(response.status)
    if (response.status === 201) addIds(pool, response.text)
    expect([name, findMismatch(operation, response)]).toEqual([name, undefined])
  })
  await fc.assert(property, { seed, numRuns: runsPerOperation, endOnFailure: true })
  return seen
}

/** The OWNER of a new workspace, which a request may delete. */
async function createOwner(): Promise<string> {
  const { token, key } = await api.signUp()
  secrets.push(token, key)
  return token
}

test(`a response to a random request is no 5xx, and as documented (seed ${seed})`, async () => {
  const statuses: Set<number>[] = []
  // DELETE comes last, so that the other operations have records to work on.
  const isDelete = ({ method }: DocumentedOperation) => Number(method === 'DELETE')
  for (const operation of operations.toSorted((a, b) => isDelete(a) - isDelete(b))) {
    const seen = await callRandomly(operation, async () => workspace.key)
    // If ADMIN is never sufficient, try as OWNER.
    statuses.push([...seen].every((status) => status === 403) ? await callRandomly(operation, createOwner) : seen)
  }
  // Most requests were not just rejected: most routes also succeeded.
  const succeeded = statuses.filter((seen) => [...seen].some((status) => status < 400))
  expect(succeeded.length).toBeGreaterThan(operations.length * 0.5)
})

/** Texts that cannot be stored. At the gate, `json-body.int.test.ts` sends them to every route. */
const unstorable = isFullRun ? ['\u0000', '\ud800'] : []

/** Values that are invalid for the schema. */
function invalidValues({ type, maxLength, maxItems, anyOf = [] }: Schema): unknown[] {
  const [one, other] = Array.isArray(type) ? type.map((name) => ({ maxLength, maxItems, type: name })) : anyOf
  if (one && other?.type === 'null') return invalidValues(one as Schema).filter((value) => value !== null)
  if (one?.type === 'string' && other?.type === 'string') return invalidValues(one as Schema)
  if (type === 'string') return [5, null, {}, ...unstorable, 'x'.repeat((maxLength ?? 1_000_000) + 1)]
  if (type === 'integer' || type === 'number') return ['5', true, null, [], {}]
  if (type === 'boolean') return ['true', 1, null, [], {}]
  if (type === 'array')
    return ['x', 5, true, null, {}, Array.from({ length: (maxItems ?? 9_000) + 1 }, (_, index) => `${index}`)]
  return type === 'object' ? ['x', 5, true, null, []] : []
}

/** Every example body with one invalid field, and the name of that field. */
function* invalidBodies({ method, requestBody }: DocumentedOperation): Generator<{ field: string; body: Json }> {
  const { schema, example } = requestBody?.content['application/json'] ?? {}
  const { properties = {}, required = [] } = schemas[schema?.$ref?.split('/').at(-1) ?? ''] ?? {}
  for (const [field, fieldSchema] of Object.entries(properties)) {
    // In a POST, null is as if an optional field were left out.
    const isRejected = (value: unknown) => value !== null || method !== 'POST' || required.includes(field)
    for (const value of invalidValues(fieldSchema).filter(isRejected))
      yield { field, body: { ...example, [field]: value } }
  }
}

test('each body field rejects wrong types and sizes and is named', async () => {
  let tried = 0
  for (const operation of operations) {
    const { method, template, parameters = [], isSecured } = operation
    // Only the OWNER's session may call it.
    const key = method === 'DELETE' && template === '/workspace' ? workspace.token : workspace.key
    const path = parameters
      .filter((parameter) => parameter.in === 'path')
      .reduce((filled, { name, example = '' }) => {
        return filled.replace(`{${name}}`, pool.get(example.slice(0, 3))?.[0] ?? example)
      }, template)
    for (const { field, body } of invalidBodies(operation)) {
      const response = await api.call(method, path, { body, ...(isSecured && { key }) })
      const issues = (response.body['issues'] ?? []) as { path: string }[]
      // An unknown record in the path is reported first. A token that is too long is a wrong token.
      const isOther = response.status === 404 || (field === 'token' && response.body['code'] === 'invalid_token')
      const reported = isOther ? field : issues.find(({ path }) => path.split('.')[0] === field)?.path
      expect(`${method} ${template} ${response.status} ${reported?.split('.')[0]}`).toMatch(
        new RegExp(`^${method} \\S+ 40[04] ${field}$`),
      )
      tried += 1
    }
  }
  expect(tried).toBeGreaterThan(200)
})

/** Query strings that a parameter must reject. */
function invalidQueries({ name, schema }: Parameter): string[] {
  const twice = JSON.stringify(schema).includes('"array"') ? [] : [`${name}=a&${name}=b`]
  const hasForm =
    schema.enum ||
    schema.anyOf?.some(({ format }) => format === 'date-time') ||
    ['limit', 'cursor', 'listId'].includes(name)
  const formless = hasForm ? [`${name}=%00`, `${name}=nope`, `${name}=-1`] : []
  // Public pages ignore parameters that they do not know, and work without this one.
  const nested = name === 'lang' ? [] : [`${name}[]=a`, `${name}[a]=b`]
  return [...twice, ...nested, ...formless]
}

test('each query parameter rejects repetition, arrays and malformed values', async () => {
  for (const { method, template, parameters = [], isSecured } of operations) {
    const path = template.replace(/\{\w+\}/g, 'x')
    for (const query of parameters.filter((parameter) => parameter.in === 'query').flatMap(invalidQueries)) {
      const { status } = await api.call(method, `${path}?${query}`, isSecured ? { key: workspace.key } : {})
      expect(`${method} ${template}?${query}: ${status}`).toMatch(/: 4(00|04|03|15)$/)
    }
  }
})

test('no log line at any level contains a secret', () => {
  const log = api.takeLog().join('')
  expect(log.split('\n').length).toBeGreaterThan(operations.length * runsPerOperation)
  expect(log).not.toMatch(/"level":(50|60)/)
  expect(secrets.length).toBeGreaterThan(5)
  for (const secret of secrets) expect(log).not.toContain(secret)
})
