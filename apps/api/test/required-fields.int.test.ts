import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { expectError, type Json, type Operation, operationsOf, startTestApi } from './testing.ts'

interface Schema {
  $ref?: string
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  examples?: unknown[]
}
interface Body {
  schema: Schema
  example?: Json
}
interface Document {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, Body> } }>>
  components: { schemas: Record<string, Schema> }
}

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let document: Document
let operations: Operation[]
beforeAll(async () => {
  document = (await api.call<Document>('GET', '/openapi.json')).body
  operations = await operationsOf(api)
})

const resolve = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : (document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {})

/** The value without one required field, for each required field at any depth, with the path of that field. */
function* incompleteValues(given: Schema, value: unknown, path = ''): Generator<{ path: string; value: unknown }> {
  const { required = [], properties = {}, items } = resolve(given)
  if (Array.isArray(value)) {
    const [first, ...others] = value as unknown[]
    for (const one of incompleteValues(items ?? {}, first, `${path}0.`))
      yield { path: one.path, value: [one.value, ...others] }
  } else if (typeof value === 'object' && value !== null) {
    for (const name of required) yield { path: path + name, value: { ...value, [name]: undefined } }
    for (const [name, child] of Object.entries(value))
      for (const one of incompleteValues(properties[name] ?? {}, child, `${path}${name}.`))
        yield { path: one.path, value: { ...value, [name]: one.value } }
  }
}

test('a missing field of a body is required, at any depth', async () => {
  const tried = new Set<string>()
  for (const { method, path, template, isSecured } of operations) {
    const { content } = document.paths[template]?.[method.toLowerCase()]?.requestBody ?? {}
    const { schema, example } = content?.['application/json'] ?? {}
    // The entries of a batch are validated by themselves.
    if (!schema || template.endsWith('/batch')) continue
    for (const incomplete of incompleteValues(schema, example ?? resolve(schema).examples?.[0])) {
      const response = await api.call(method, path, {
        body: incomplete.value,
        ...(isSecured && { key: workspace.token }),
      })
      const { issues } = expectError(response, 400)
      const name = `${method} ${template} ${incomplete.path}`
      expect([name, issues]).toEqual([name, [{ path: incomplete.path, message: 'is required' }]])
      tried.add(name)
    }
  }
  expect([...tried]).toEqual(
    expect.arrayContaining([
      'POST /auth/login password',
      'POST /forms fields.0.label',
      'POST /pipelines stages.0.name',
    ]),
  )
  expect(tried.size).toBeGreaterThan(35)
})
