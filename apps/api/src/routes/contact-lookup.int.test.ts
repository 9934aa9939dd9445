import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { expectError, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
const find = (query: string) =>
  api.call<{ data: { id: string }[] }>('GET', `/contacts?${query}`, { key: workspace.key })

test('an address with an international domain is found as it was typed', async () => {
  const { id } = await api.create('/contacts', workspace.key, { email: 'ada@bücher.example' })
  for (const address of [
    'ada@bücher.example',
    'ADA@BÜCHER.example',
    'ada@xn--bcher-kva.example',
    ' ada@bu\u0308cher.example',
  ]) {
    const typed = encodeURIComponent(address)
    const filter = encodeURIComponent(JSON.stringify({ field: 'email', eq: address }))
    for (const query of [`email=${typed}`, `search=${typed}`, `filter=${filter}`])
      expect([query, (await find(query)).body.data.map((contact) => contact.id)]).toEqual([query, [id]])
    const exported = await api.call('GET', `/contacts/export?email=${typed}`, { key: workspace.key })
    expect(exported.text).toContain('ada@xn--bcher-kva.example')
  }
})

test.each(['bücher.example', '@BÜCHER.exa', 'ada@bücher', 'Ada bu\u0308cher.example'])(
  'search=%s finds a part of an international address',
  async (part) => {
    const email = 'ada@bücher.example'
    const { status } = await api.call('PUT', '/contacts', { key: workspace.key, body: { email, firstName: 'Ada' } })
    expect(status).toBeLessThan(300)
    expect((await find(`search=${encodeURIComponent(part)}`)).body.data).toHaveLength(1)
  },
)

test('a plus sign that is not encoded is rejected with a hint, in listings and exports', async () => {
  await api.create('/contacts', workspace.key, { email: 'ada+news@example.com' })
  const hint =
    'must be an email address such as ada@example.com: a space is not allowed; in a URL, send a plus sign as %2B'
  expectError(await find('email=ada+news@example.com'), 400, `email: ${hint}`)
  expectError(
    await api.call('GET', '/contacts/export?email=a+b+c@example.com', { key: workspace.key }),
    400,
    `email: ${hint}`,
  )
  expect((await find('email=ada%2Bnews@example.com')).body.data).toHaveLength(1)
})

test.each(['ada', 'ada@', '@example.com', 'ada@example', 'ada@example.com,grace@example.com', ''])(
  'email=%s is rejected, because no contact can have it',
  async (address) => {
    expectError(await find(`email=${address}`), 400, 'email: must be an email address such as ada@example.com')
  },
)
