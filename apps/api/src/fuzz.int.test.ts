/** Every route of the API's own description, called with what fits it and with what does not. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { ErrorBody } from './error-handler.ts'
import { type Parameter, pathsOf, type Pool, type Schema, valuesOf } from './fuzz.ts'
import {
  type Answer,
  freshEmail,
  type Json,
  password,
  startTestApi,
  type TestApi,
  type TestWorkspace,
} from './testing.ts'

interface DocumentedOperation {
  method: string
  template: string
  security?: unknown[]
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema; example?: Json }> }
  responses: Record<string, { content?: Record<string, { schema?: Schema }> }>
}

const timeout = 180_000
const runsEach = 40

let api: TestApi
let workspace: TestWorkspace
let schemas: Record<string, Schema>
let operations: DocumentedOperation[]
const pool: Pool = new Map()
const secrets: string[] = [password]
beforeAll(async () => {
  api = await startTestApi({ environment: { LOG_LEVEL: 'trace' } })
  workspace = await api.signUp()
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
afterAll(() => api.close())

/** Two records of each kind that an example body makes; what else they are made of comes with them. */
async function fillPool() {
  secrets.push(workspace.token, workspace.key)
  for (let round = 0; round < 2; round++) {
    for (const { method, template, requestBody } of operations) {
      const example = requestBody?.content['application/json']?.example
      if (method !== 'POST' || template.includes('{') || !example || template.startsWith('/auth')) continue
      const listId = pool.get('lst')?.[0]
      const given = {
        ...example,
        ...('email' in example && { email: freshEmail() }),
        ...('listId' in example && { listId }),
      }
      const answer = await api.call('POST', template, { key: workspace.key, body: given })
      for (const secret of ['key', 'secret']) if (answer.body?.[secret]) secrets.push(String(answer.body[secret]))
      addIds(answer.text)
    }
  }
  addIds((await api.call('GET', '/pipelines', { key: workspace.key })).text)
}

function addIds(text: string) {
  for (const [id, prefix = ''] of text.matchAll(/([a-z]{3})_[0-9a-hjkmnp-tv-z]{26}/g)) {
    // Names of this very credential, and of who owns it, are kept out of reach.
    if (!['wsp', 'usr', 'ses'].includes(prefix))
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
function faultOf({ responses, template }: DocumentedOperation, answer: Answer<unknown>): string | undefined {
  const { status, headers, body, text } = answer
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
      parameters.filter((parameter) => parameter.in !== 'header'),
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

test('whatever is sent to whichever route, no answer is a failure, and each is as it is declared', {
  timeout,
}, async () => {
  const statuses: Record<string, Set<number>> = {}
  for (const operation of operations) {
    const name = `${operation.method} ${operation.template}`
    const seen = (statuses[name] = new Set())
    const property = fc.asyncProperty(requestsFor(operation), async ({ path, raw, type }) => {
      const answer = await api.call(operation.method, path, {
        ...(operation.security && { key: workspace.key }),
        ...(raw !== undefined && { raw, headers: { 'content-type': type } }),
      })
      seen.add(answer.status)
      expect([name, faultOf(operation, answer)]).toEqual([name, undefined])
    })
    await fc.assert(property, { seed: 20_261_121, numRuns: runsEach, endOnFailure: true })
  }
  // It got further than the doors: most routes also did what they are for.
  const succeeded = Object.values(statuses).filter((seen) => [...seen].some((status) => status < 400))
  expect(succeeded.length).toBeGreaterThan(operations.length * 0.6)
})

/** Values that no field of such a schema takes. */
function misfits({ type, maxLength, maxItems, anyOf = [] }: Schema): unknown[] {
  const [one, other] = anyOf
  if (one && other?.type === 'null') return misfits(one).filter((value) => value !== null && value !== 1e400)
  if (type === 'string') return [5, true, null, [], {}, '\u0000', '\ud800', 'x'.repeat((maxLength ?? 1_000_000) + 1)]
  if (type === 'integer' || type === 'number') return ['5', true, null, [], {}, 1e400]
  if (type === 'boolean') return ['true', 1, null, [], {}]
  if (type === 'array')
    return ['x', 5, true, null, {}, Array.from({ length: (maxItems ?? 9_000) + 1 }, (_, index) => `${index}`)]
  return type === 'object' ? ['x', 5, true, null, []] : []
}

test('each field of each body refuses what is of another type or too large, by its name', { timeout }, async () => {
  let tried = 0
  for (const { method, template, requestBody, parameters = [], security } of operations) {
    const { schema, example } = requestBody?.content['application/json'] ?? {}
    if (!schema?.properties) continue
    const idOf = ({ example: id = '' }: Parameter) => pool.get(id.slice(0, 3))?.[0] ?? id
    const path = parameters
      .filter((parameter) => parameter.in === 'path')
      .reduce((filled, parameter) => filled.replace(`{${parameter.name}}`, idOf(parameter)), template)
    for (const [field, fieldSchema] of Object.entries(schema.properties)) {
      for (const value of misfits(fieldSchema)) {
        const call = { body: { ...example, [field]: value }, ...(security && { key: workspace.key }) }
        const { status, body } = await api.call(method, path, call)
        const told = `${method} ${template} ${field}=${JSON.stringify(value).slice(0, 30)}: ${status}`
        // A record in the path that is not there is told first.
        expect(told).toMatch(/: 40[04]$/)
        const issues = (body['issues'] ?? []) as { path: string }[]
        if (status === 400)
          expect([told, issues.some((issue) => issue.path.split('.')[0] === field)]).toEqual([told, true])
        tried += 1
      }
    }
  }
  expect(tried).toBeGreaterThan(200)
})

test('each query parameter refuses to be given twice, or as an array, and those with a form another one', {
  timeout,
}, async () => {
  for (const { method, template, parameters = [], security } of operations) {
    for (const { name, schema } of parameters.filter((parameter) => parameter.in === 'query')) {
      const isList = JSON.stringify(schema).includes('"array"')
      const strict =
        schema.enum || schema.format === 'date-time' || name === 'limit' || name === 'cursor' || /Id$/.test(name)
      const wrong = [
        ...(isList ? [] : [`${name}=a&${name}=b`]),
        `${name}[]=a`,
        `${name}[a]=b`,
        ...(strict && name !== 'actorId' ? [`${name}=%00`, `${name}=nope`, `${name}=-1`] : []),
      ]
      for (const query of wrong) {
        const { status } = await api.call(
          method,
          `${template.replace(/\{\w+\}/g, 'x')}?${query}`,
          security && { key: workspace.key },
        )
        expect(`${method} ${template}?${query}: ${status}`).toMatch(/: 4(00|04|03|15)$/)
      }
    }
  }
})

test('in all that was logged of it, at every level, is no secret', () => {
  const log = api.takeLog().join('')
  expect(log.split('\n').length).toBeGreaterThan(operations.length * runsEach)
  expect(log).not.toMatch(/"level":(50|60)/)
  expect(secrets.length).toBeGreaterThan(5)
  for (const secret of secrets) expect(log).not.toContain(secret)
})
