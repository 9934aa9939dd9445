import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, operationsOf, startTestApi } from '../../../test/testing.ts'

const api = useForFile(() => startTestApi())

test.each([
  ['POST /', 'GET, HEAD'],
  ['PUT /lists', 'GET, HEAD, POST'],
  ['DELETE /contacts?email=a', 'GET, HEAD, POST, PUT'],
  ['PUT /contacts/con_01kag7m3v9e8fs2t4w6x8y0z2c', 'DELETE, GET, HEAD, PATCH'],
  ['POST /ready', 'GET, HEAD'],
  ['TRACE /contacts', 'GET, HEAD, POST, PUT'],
  ['PROPFIND /contacts', 'GET, HEAD, POST, PUT'],
])('%s returns 405 and names the methods of the path', async (route, allow) => {
  const [method = '', path = ''] = route.split(' ')
  const response = await api.call(method, path, { raw: '{bad' })
  expectError(response, 405, `${method} is not allowed here: use ${allow}`)
  expect(response.headers['allow']).toBe(allow)
})

test.each([
  ['GET /contacts/batch', 'POST'],
  ['DELETE /contacts/import', 'POST'],
  ['PATCH /contacts/export', 'GET, HEAD'],
  ['GET /segments/preview', 'POST'],
  ['GET /suppressions/import', 'POST'],
])('%s is no record with this id, but a path with other methods', async (route, allow) => {
  const [method = '', path = ''] = route.split(' ')
  const { key } = await api.signUp()
  const response = await api.call(method, path, { key, ...(method === 'PATCH' && { body: {} }) })
  expectError(response, 405, `${method} is not allowed here: use ${allow}`)
  expect(response.headers['allow']).toBe(allow)
})

test('a path with a placeholder that was not filled in is a record that does not exist', async () => {
  const { key } = await api.signUp()
  expectError(await api.call('GET', '/contacts/:id', { key }), 404, 'Contact not found')
})

test('a path of many slashes is searched in linear time', async () => {
  expectError(await api.call('GET', `/x${'/'.repeat(300_000)}x`), 404, 'Route not found')
})

test('every documented path returns 405 for a method that it does not have', async () => {
  const operations = await operationsOf(api)
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const documented = operations.filter((operation) => operation.path === path).map(({ method }) => method)
    const allow = (await api.call('PROPFIND', path)).headers['allow']?.split(', ') ?? []
    expect([path, allow]).toEqual([path, expect.arrayContaining(documented)])
  }
})
