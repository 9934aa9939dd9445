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

test('a document that breaks the specification or a rule has problems', async () => {
  const { version: _, ...unversioned } = document.info
  // A smaller document, which is checked faster.
  const small = { ...document, webhooks: {}, paths: { '/health': document.paths['/health'] } }
  const invalid = await findProblems({ ...small, info: unversioned })
  for (const tool of ['openapi-schema-validator', 'redocly struct']) {
    expect(invalid.filter((problem) => problem.startsWith(tool))).not.toEqual([])
  }
  const { license: __, ...unlicensed } = document.info
  expect(await findProblems({ ...document, info: unlicensed })).toEqual([
    expect.stringMatching(/^redocly info-license/),
  ])
})
