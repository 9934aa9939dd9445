import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, startTestApi } from './testing.ts'

const api = useForFile(() => startTestApi())

test('the reference page loads no external resources', async () => {
  expect(await api.call('GET', '/docs')).toMatchObject({ status: 301, headers: { location: '/docs/' } })
  const page = await api.call('GET', '/docs/')
  expect(page).toMatchObject({ status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } })
  expect(page.text).toContain('<title>Rapport API reference</title>')
  expect(page.text).toContain('"/openapi.json"')
  const sources = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, source]) => source ?? '')
  expect(sources).toEqual(['js/scalar.js'])
  const script = await api.call('GET', '/docs/js/scalar.js')
  expect(script).toMatchObject({ status: 200, headers: { 'content-type': expect.stringContaining('javascript') } })
})

test('the document rejects query parameters', async () => {
  expectError(await api.call('GET', '/openapi.json?nope=1'), 400, 'nope: unknown parameter')
})
