/** Operators and configuration: routes of the contract without a test elsewhere. */
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { readFile } from 'node:fs/promises'
import { describeVariables } from '@rapport/core/runtime/config.ts'
import { expect, test } from 'vitest'
import { expectError, startTestApi } from '../testing.ts'

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

test('Configuration: every variable of the contract is known', async () => {
  const names = (await readFile(new URL('configuration-variables.txt', import.meta.url), 'utf8')).trim().split(/\s+/)
  expect(describeVariables().map(({ name }) => name)).toEqual(expect.arrayContaining(names))
})
