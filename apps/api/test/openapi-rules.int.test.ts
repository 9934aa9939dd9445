import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { findProblems } from './openapi-rules.ts'
import { startTestApi } from './testing.ts'

interface Document {
  info: { version?: string; license?: object }
  paths: Record<string, Record<string, object>>
}

const api = useForFile(() => startTestApi({ environment: { METRICS_TOKEN: 'a-token-for-prometheus' } }))
let document: Document
beforeAll(async () => {
  document = (await api.call<Document>('GET', '/openapi.json')).body
})

test('the schema of OpenAPI and the recommended rules of redocly find no problem', async () => {
  expect(await findProblems(document)).toEqual([])
})

test('the same tools find no problem in OpenAPI 3.0, which has every operation', async () => {
  const { body, headers } = await api.call<Document & { openapi: string }>('GET', '/openapi.json?version=3.0')
  expect(body.openapi).toBe('3.0.3')
  // Everywhere it may be null, so it is repeated.
  const unused = expect.stringMatching(/^redocly no-unused-components: Component: "WebhookFilter"/) as unknown
  expect(await findProblems(body)).toEqual([unused])
  const operationsOf = ({ paths }: Document) =>
    Object.entries(paths).map(([path, methods]) => [path, Object.keys(methods)])
  expect(operationsOf(body)).toEqual(operationsOf(document))
  const cached = await api.call('GET', '/openapi.json?version=3.0', {
    headers: { 'if-none-match': String(headers['etag']) },
  })
  expect(cached.status).toBe(304)
  expect((await api.call<{ openapi: string }>('GET', '/openapi.json?version=3.1')).body.openapi).toBe('3.1.0')
  expect((await api.call('GET', '/openapi.json?version=2.0')).status).toBe(400)
})

test('a document that breaks the specification or a rule has problems', async () => {
  const { version: _, ...unversioned } = document.info
  // A smaller document, which is checked faster.
  const small = { ...document, webhooks: {}, paths: { '/health': document.paths['/health'] } }
  const invalid = await findProblems({ ...small, info: unversioned })
  for (const tool of ['openapi-schema-validator', 'redocly struct']) {
    expect(invalid.filter((problem) => problem.startsWith(tool))).not.toEqual([])
  }
  const { license: __, ...unlicensed } = document.info
  expect(await findProblems({ ...small, info: unlicensed })).toContainEqual(
    expect.stringMatching(/^redocly info-license/),
  )
})
