import { Id, uuidOf } from '@rapport/core/kernel/ids.ts'
import { eventTypes } from '@rapport/core/events/event-definition.ts'
import type { CreatedWebhook } from '@rapport/core/webhooks/webhooks.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { aTimestamp, anId, expectError, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())

const create = (body: Record<string, unknown>) =>
  api.call<CreatedWebhook>('POST', '/webhooks', { key: workspace.key, body })
const createFor = (url: unknown) => create({ url, eventTypes: ['contact.created'] })

test('POST and GET /webhooks, GET /webhooks/{id}: secret shown once, kept encrypted', async () => {
  const response = await createFor('https://example.com/hook?a=b')
  const { secret, ...shown } = response.body
  expect(response).toMatchObject({ status: 201, headers: { location: `/webhooks/${shown.id}` } })
  expect(response.body).toEqual({
    id: anId('whk'),
    url: 'https://example.com/hook?a=b',
    eventTypes: ['contact.created'],
    filter: null,
    enabled: true,
    disabledReason: null,
    lastSuccessAt: null,
    lastFailureAt: null,
    failingSince: null,
    pausedUntil: null,
    createdAt: aTimestamp,
    secret: expect.stringMatching(/^whsec_[\w+/]{43}=$/),
  })
  const read = await api.call('GET', `/webhooks/${shown.id}`, { key: workspace.key })
  expect(read.body).toEqual(shown)
  const listing = await api.call<{ data: unknown[] }>('GET', '/webhooks', { key: workspace.key })
  expect(listing.body.data[0]).toEqual(shown)
  const stored = JSON.stringify(await api.query('select * from webhooks'))
  expect(stored).not.toContain(secret)
  expect(stored).not.toContain(Buffer.from(secret.slice(6), 'base64').toString('hex'))
  const { body: other } = await createFor('https://example.com/hook')
  expect(other.secret).not.toBe(secret)
})

test('accepts every event type, and `*` for all', async () => {
  for (const types of [[...eventTypes], ['*'], ['*', 'contact.created'], [eventTypes[0]]]) {
    expect(await create({ url: 'https://example.com', eventTypes: types })).toMatchObject({
      status: 201,
      body: { eventTypes: types },
    })
  }
  const twice = await create({ url: 'https://example.com', eventTypes: ['*', 'contact.created', '*'] })
  expect(twice.body.eventTypes).toEqual(['*', 'contact.created'])
})

test('shows a webhook with an event type of a newer release', async () => {
  const { body: webhook } = await createFor('https://example.com/newer')
  await api.query(`update webhooks set event_types = array['contact.exploded'] where url = $1`, [webhook.url])
  const { key } = workspace
  expect(await api.call('GET', `/webhooks/${webhook.id}`, { key })).toMatchObject({
    status: 200,
    body: { eventTypes: ['contact.exploded'] },
  })
  expect(await api.call('GET', '/webhooks', { key })).toMatchObject({ status: 200 })
  const disabled = await api.call('PATCH', `/webhooks/${webhook.id}`, { key, body: { enabled: false } })
  expect(disabled).toMatchObject({ status: 200, body: { enabled: false, eventTypes: ['contact.exploded'] } })
})

const badTypes: unknown[] = [
  [],
  ['contact.exploded'],
  ['Contact.Created'],
  ['contact.*'],
  ['contact.created', ''],
  ['webhook.test'],
  [5],
  [null],
  'contact.created',
  '*',
  undefined,
  null,
  {},
  Array.from({ length: 1_000 }, () => 'contact.created'),
]
test.each(badTypes.map((types) => [JSON.stringify(types)?.slice(0, 40), types]))(
  'rejects the event types %s',
  async (_name, types) => {
    const { issues } = expectError(await create({ url: 'https://example.com', eventTypes: types }), 400)
    expect(issues?.[0]?.path).toMatch(/^eventTypes/)
  },
)

const publicUrls: Record<string, string> = {
  ' https://example.com/trimmed ': 'https://example.com/trimmed',
  'https://bücher.example/ünï': 'https://xn--bcher-kva.example/%C3%BCn%C3%AF',
}
test.each(Object.entries(publicUrls))('accepts the URL %s', async (url, kept) => {
  expect(await createFor(url)).toMatchObject({ status: 201, body: { url: kept } })
})

const badUrls: unknown[] = [
  '',
  ' ',
  undefined,
  null,
  5,
  ['https://example.com'],
  { href: 'https://example.com' },
  'example.com',
  '//example.com',
  '/relative',
  'https:example.com',
  'https://',
  'ftp://example.com',
  'file:///etc/passwd',
  'gopher://example.com',
  'javascript:alert(1)',
  'data:text/plain,x',
  `https://example.com/${'a'.repeat(2_048)}`,
  'https://example.com/\u0000',
  'https://example.com/\u0001',
  'https://exa\nmple.com/',
  'https://exa\tmple.com/',
  'https://user:pw@example.com/',
  'https://user@example.com/',
  'https://example.com:0/',
  'https://example.com:22/',
  'https://example.com:25/',
  'https://example.com:99999/',
  'https://good@127.0.0.1/',
  'https://127.0.0.1\\@good.example/',
  'http://169.254.169.254/',
  'https://metadata.google.internal:8443/hook',
]
test('rejects invalid and internal URLs and names the field', async () => {
  for (const url of badUrls) {
    const response = await createFor(url)
    expect(`${JSON.stringify(url)?.slice(0, 80)} ${response.status}`).toBe(`${JSON.stringify(url)?.slice(0, 80)} 400`)
    const { issues } = expectError(response, 400)
    expect(issues?.[0]?.path).toBe('url')
  }
})

test('rejects a private hostname in a change, and changes nothing', async () => {
  const { id, url } = (await createFor('https://example.com/hook')).body
  const change = { key: workspace.key, body: { url: 'https://api.internal/' } }
  const { message } = expectError(await api.call('PATCH', `/webhooks/${id}`, change), 400)
  expect(message).toMatch(/^url: must have a public hostname, unless the operator allows a private network/)
  expect((await api.call('GET', `/webhooks/${id}`, { key: workspace.key })).body['url']).toBe(url)
})

test('rejects fields that the API sets', async () => {
  const given = { id: 'whk_01kag7m3v9e8fs2t4w6x8y0z1b', secret: 'whsec_mine', createdAt: '2020-01-01T00:00:00.000Z' }
  for (const [field, value] of Object.entries(given)) {
    const response = await create({ url: 'https://example.com', eventTypes: ['*'], [field]: value })
    expect(expectError(response, 400).issues).toEqual([{ path: field, message: 'is read-only' }])
  }
})

test('shows its health; a new URL ends a pause, enabling resets `failingSince`', async () => {
  const { body } = await createFor('https://example.com/health')
  await api.query(
    `insert into webhook_health (workspace_id, webhook_id, last_success_at, last_failure_at, failing_since, failure_count,
       paused_until)
     select workspace_id, id, now() - interval '6 days', now(), now() - interval '5 days', 14, now() + interval '1 minute'
     from webhooks where url = 'https://example.com/health'`,
  )
  const [health] = await api.query(
    `select last_success_at as "lastSuccessAt", last_failure_at as "lastFailureAt", failing_since as "failingSince",
       paused_until as "pausedUntil" from webhook_health where webhook_id = $1`,
    [uuidOf(Id('whk').parse(body.id))],
  )
  const reason = 'All 14 attempts since 2026-11-18T06:00:00Z failed'
  await api.query(`update webhooks set enabled = false, disabled_reason = $1 where url like '%/health'`, [reason])
  const call = async (method: string, change?: Record<string, unknown>) => {
    const response = await api.call(method, `/webhooks/${body.id}`, { key: workspace.key, body: change })
    expect(response.status).toBe(200)
    return response.body
  }
  const asJson = JSON.parse(JSON.stringify(health)) as object
  expect(await call('GET')).toMatchObject({ ...asJson, enabled: false, disabledReason: reason })
  expect(await call('PATCH', { url: 'https://example.com/new' })).toMatchObject({ ...asJson, pausedUntil: null })
  expect(await call('PATCH', { enabled: true })).toMatchObject({
    ...asJson,
    enabled: true,
    disabledReason: null,
    failingSince: null,
    pausedUntil: null,
  })
})
