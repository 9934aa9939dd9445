/** Operators and configuration: one test for each route of the contract. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { readFile } from 'node:fs/promises'
import { describeVariables } from '@rapport/core/runtime/config.ts'
import { expect, test } from 'vitest'
import { expectError, type Json, startTestApi } from '../testing.ts'

interface Document {
  openapi: string
  paths: Record<string, Record<string, Json>>
}

const environment = {
  METRICS_TOKEN: 'token-of-the-metrics-scraper',
  DASHBOARD_USER: 'ada',
  DASHBOARD_PASSWORD: 'x'.repeat(16),
}
const api = useForFile(() => startTestApi({ environment }))

test('GET /health: 200 while the process runs', async () => {
  expect(await api.call('GET', '/health')).toMatchObject({ status: 200, body: { status: 'ok' } })
})

test('GET /ready: the state of each part', async () => {
  expect(await api.call('GET', '/ready')).toMatchObject({
    status: 200,
    body: { status: 'ready', parts: { database: 'up', redis: 'not used', server: 'up' } },
  })
})

test('GET /metrics: in the Prometheus format, with the token only', async () => {
  expectError(await api.call('GET', '/metrics'), 401)
  const metrics = await api.call('GET', '/metrics', { key: environment.METRICS_TOKEN })
  expect(metrics).toMatchObject({ status: 200, headers: { 'content-type': expect.stringContaining('text/plain') } })
  expect(metrics.text).toContain('# TYPE')
})

test('GET /openapi.json: operationIds, roles, and integers as integers', async () => {
  const { body } = await api.call<Document>('GET', '/openapi.json')
  expect(body.openapi).toMatch(/^3\.1/)
  expect(body.paths['/contacts']?.['post']).toMatchObject({
    operationId: 'contacts.create',
    'x-required-role': 'MEMBER',
  })
  expect(body.paths['/auth/login']?.['post']).toMatchObject({ security: [] })
  const parameters = body.paths['/contacts']?.['get']?.['parameters'] as { name: string; schema: Json }[]
  expect(parameters.find(({ name }) => name === 'limit')?.schema).toMatchObject({ type: 'integer', maximum: 100 })
  expect(Object.keys(body.paths)).toEqual(expect.arrayContaining(['/openapi.json', '/health', '/ready', '/metrics']))
})

test('GET /docs: the reference with its guides', async () => {
  const page = await api.call('GET', '/docs/')
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  expect(page.text).toContain('<html lang="en"')
})

test('GET /: a small page with links to the reference and the health of the parts', async () => {
  const page = await api.call('GET', '/?utm_source=x', { headers: { accept: 'text/html' } })
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  for (const link of ['docs/', 'openapi.json']) expect(page.text).toContain(link)
})

test('GET /queues: behind a password of its own', async () => {
  expectError(await api.call('GET', '/queues/'), 401)
})

test('Configuration: every variable of the contract is known', async () => {
  const names = (await readFile(new URL('configuration-variables.txt', import.meta.url), 'utf8')).trim().split(/\s+/)
  expect(describeVariables().map(({ name }) => name)).toEqual(expect.arrayContaining(names))
})
