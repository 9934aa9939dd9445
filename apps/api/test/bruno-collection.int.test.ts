import { readdirSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { toBrunoCollection } from '@rapport/bruno-collection/bruno-collection.ts'
import type { OpenApiDocument } from '@rapport/bruno-collection/openapi-document.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { startTestApi } from './testing.ts'

const folder = resolve(import.meta.dirname, '../../../docs/bruno')

const api = useForFile(() => startTestApi())
let files: Map<string, string>
beforeAll(async () => {
  files = toBrunoCollection((await api.call<OpenApiDocument>('GET', '/openapi.json')).body)
})

test('the Bruno collection in docs/bruno is current (`pnpm clients:generate`)', async () => {
  for (const [path, text] of files) await expect(text).toMatchFileSnapshot(join(folder, path))
})

test('docs/bruno has no file of an operation that is gone', () => {
  const committed = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  expect(committed.toSorted()).toEqual([...files.keys()].toSorted())
})

test('every operation has a request, except for pages and the document itself', async () => {
  const { paths } = (await api.call<OpenApiDocument>('GET', '/openapi.json')).body
  const operations = Object.values(paths).flatMap((path) => Object.values(path))
  const requests = new Set([...files.keys()].map((path) => basename(path, '.yml')))
  const missing = operations.filter(({ operationId, tags }) => tags[0] !== 'Hosted pages' && !requests.has(operationId))
  expect(missing.map(({ operationId }) => operationId).toSorted()).toEqual([
    'mcp.call',
    'openApi.get',
    'pages.getEmbedScript',
    'pages.showHome',
  ])
})
