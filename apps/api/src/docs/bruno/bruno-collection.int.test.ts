import { basename } from 'node:path'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { strFromU8, unzipSync } from 'fflate'
import { beforeAll, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { startTestApi } from '../../../test/testing.ts'
import { zipBrunoCollection } from './bruno-archive.ts'
import type { OpenApiDocument } from './openapi-document.ts'

const api = useForFile(() => startTestApi())
let files: Record<string, Uint8Array>
let document: OpenApiDocument
beforeAll(async () => {
  files = unzipSync((await api.app.inject('/docs/bruno.zip')).rawPayload)
  document = (await api.call<OpenApiDocument>('GET', '/openapi.json')).body
})

const read = (path: string): unknown => parse(strFromU8(files[`rapport-bruno/${path}`] ?? new Uint8Array()))

test('a browser stores the archive as a file', async () => {
  const { headers } = await api.call('GET', '/docs/bruno.zip')
  expect(headers).toMatchObject({
    'content-type': 'application/zip',
    'content-disposition': 'attachment; filename="rapport-bruno.zip"',
  })
})

test('the collection has the address of the installation, and a place for the API key', () => {
  expect(read('opencollection.yml')).toMatchObject({ request: { auth: { type: 'bearer', token: '{{apiKey}}' } } })
  expect(read('environments/installation.yml')).toEqual({
    name: 'installation',
    variables: [
      { name: 'baseUrl', value: 'https://crm.example.com' },
      { name: 'apiKey', secret: true },
    ],
  })
})

test('a request that creates a record keeps its id, which others use', () => {
  expect(read('deals/deals.create.yml')).toMatchObject({
    http: {
      method: 'POST',
      url: '{{baseUrl}}/deals',
      body: { type: 'json', data: expect.stringContaining('"contactId": "{{contactId}}"') },
      auth: 'inherit',
    },
    runtime: { actions: [{ selector: { expression: 'res.body.id' }, variable: { name: 'dealId' } }] },
  })
  expect(read('deals/deals.get.yml')).toMatchObject({
    http: { url: '{{baseUrl}}/deals/:id', params: [{ name: 'id', value: '{{dealId}}', type: 'path' }] },
  })
})

test('every operation has a request, except for pages and the document itself', () => {
  const operations = Object.values(document.paths).flatMap((path) => Object.values(path))
  const requests = new Set(Object.keys(files).map((path) => basename(path, '.yml')))
  const missing = operations.filter(({ operationId, tags }) => tags[0] !== 'Hosted pages' && !requests.has(operationId))
  expect(missing.map(({ operationId }) => operationId).toSorted()).toEqual([
    'mcp.call',
    'openApi.get',
    'pages.getEmbedScript',
    'pages.showHome',
  ])
})

test('every process makes the same archive, at any time', () => {
  const now = zipBrunoCollection(document, 'https://crm.example.com')
  vi.setSystemTime('2030-06-15')
  expect(zipBrunoCollection(document, 'https://crm.example.com')).toEqual(now)
  vi.useRealTimers()
})
