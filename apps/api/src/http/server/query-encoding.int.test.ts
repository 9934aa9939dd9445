import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, startTestApi } from '../../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

test.each(['tag=caf%E9', 'search=100%', 'search=%ED%A0%BD', 'search=%C3', 'tag=a&%zz=1'])(
  'the query %s is rejected, because it is not UTF-8',
  async (query) => {
    const message = 'The query must be percent-encoded UTF-8: a percent sign is %25'
    for (const path of ['/contacts', '/contacts/export'])
      expectError(await api.call('GET', `${path}?${query}`, { key: workspace.key }), 400, message)
  },
)

test('an encoded query, and a parameter that another program adds, are accepted', async () => {
  const encoded = await api.call('GET', '/contacts?tag=caf%C3%A9&search=100%25%F0%9F%A6%89', { key: workspace.key })
  expect(encoded.status).toBe(200)
  const { id } = await api.create('/forms', workspace.key, {
    name: 'Contact us',
    fields: [{ id: 'email', type: 'EMAIL', label: 'Email', required: true, mapsTo: 'email' }],
  })
  expect((await api.call('GET', `/f/${String(id)}?utm_campaign=100%&q=%E4`)).status).toBe(200)
})
