import type { CreatedWebhook } from '@rapport/core/webhooks/webhooks.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { expectError, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

const url = 'https://example.com/hook'
const filter = { changed: ['email'], source: { in: ['shop', null] } }
let webhook: CreatedWebhook
beforeAll(async () => {
  const body = { url, eventTypes: ['contact.updated'], filter }
  webhook = (await api.call<CreatedWebhook>('POST', '/webhooks', { key: workspace.key, body })).body
})

const send = (method: 'POST' | 'PATCH', path: string, body: string) =>
  api.call(method, path, {
    key: workspace.key,
    raw: body,
    headers: { 'content-type': 'application/json' },
  })

test('POST, GET and PATCH /webhooks show the filter as it was given', async () => {
  const { key } = workspace
  const read = () => api.call('GET', `/webhooks/${webhook.id}`, { key })
  expect([webhook.filter, (await read()).body]).toMatchObject([filter, { filter }])
  const other = { filter: { email: { eq: 'ada@example.com' }, changed: ['tags'] } }
  const changed = await api.call<CreatedWebhook>('PATCH', `/webhooks/${webhook.id}`, { key, body: other })
  expect(changed.body.filter).toEqual(other.filter)
  const cleared = await api.call('PATCH', `/webhooks/${webhook.id}`, { key, body: { filter: null } })
  expect(cleared).toMatchObject({ status: 200, body: { filter: null } })
  await api.call('PATCH', `/webhooks/${webhook.id}`, { key, body: { filter } })
  const created = await api.call('POST', '/webhooks', { key, body: { url, eventTypes: ['*'], filter: null } })
  expect(created).toMatchObject({ status: 201, body: { filter: null } })
})

const many = (count: number, value: string) => Array.from({ length: count }, (_, n) => `"f${n}": ${value}`).join()
const ugly = [
  '"email"',
  '[]',
  '[{"email": {"eq": "x"}}]',
  '7',
  'true',
  '{}',
  '{"email": "x"}',
  '{"email": null}',
  '{"email": {}}',
  '{"email": []}',
  '{"email": {"eq": {"a": 1}}}',
  '{"email": {"eq": ["a"]}}',
  '{"email": {"eq": "x", "in": ["x"]}}',
  '{"email": {"in": "x"}}',
  '{"email": {"in": []}}',
  '{"email": {"in": [[]]}}',
  '{"email": {"ne": "x"}}',
  '{"email": {"eq": "\\u0000"}}',
  '{"email": {"eq": "a\\nb"}}',
  '{"email": {"eq": "\\ud83d"}}',
  '{"email": {"in": ["ok", "\\udc00"]}}',
  `{"email": {"eq": "${'x'.repeat(501)}"}}`,
  `{"email": {"in": [${Array.from({ length: 1_000 }, () => '"x"').join()}]}}`,
  `{${many(1_000, '{"eq": "x"}')}}`,
  `{${many(11, '{"eq": "x"}')}}`,
  '{"changed": "email"}',
  '{"changed": {"eq": "email"}}',
  '{"changed": []}',
  '{"changed": [1]}',
  '{"changed": [null]}',
  '{"changed": ["é\\u0000"]}',
  '{"changed": ["__proto__"]}',
  '{"changed": ["customFieldValues.__proto__"]}',
  '{"changed": ["customFieldValues."]}',
  `{"changed": [${Array.from({ length: 1_000 }, () => '"email"').join()}]}`,
  '{"__proto__": {"eq": "x"}}',
  '{"constructor": {"eq": "x"}}',
  '{"constructor": {"prototype": {"eq": 1}}}',
  '{"toString": {"eq": "x"}}',
  '{"": {"eq": "x"}}',
  '{"🦉\\u0000": {"eq": "x"}}',
  '{"\\ud83d": {"eq": "x"}}',
  '{"email": {"eq": 1e400}}',
  '{"customFieldValues.plan": {"eq": "x"}}',
]
const cases = ugly.map((filter) => [filter.slice(0, 60), filter] as const)
test.each(cases)('the filter %s is a 400 that names it, and is not stored', async (_start, filter) => {
  const responses = [
    await send('POST', '/webhooks', `{"url": "${url}", "eventTypes": ["contact.updated"], "filter": ${filter}}`),
    await send('PATCH', `/webhooks/${webhook.id}`, `{"filter": ${filter}}`),
  ]
  for (const response of responses) expectError(response, 400)
  const named = responses.filter(({ text }) => /"path":"filter[".]/.test(text))
  expect(named.length).toBe(2)
  const stored = await api.query('select filter from webhooks where filter is not null')
  expect(stored).toEqual([{ filter: { changed: ['email'], source: { in: ['shop', null] } } }])
})
