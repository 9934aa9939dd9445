import type { Campaign } from '@rapport/core/campaigns/campaigns.schema.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { countStatuses, expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let audience: List
beforeAll(async () => {
  audience = await api.create<List>('/lists', workspace.key, { name: 'Newsletter', doubleOptIn: false })
  for (let person = 0; person < 3; person++) {
    await api.call('POST', `/public/lists/${audience.id}/subscribe`, { body: { email: freshEmail() } })
  }
})

const create = (given: Record<string, unknown> = {}) =>
  api.create<Campaign>('/campaigns', workspace.key, {
    name: 'November',
    subject: 'News for {{ contact.firstName }}',
    listId: audience.id,
    ...given,
  })
const send = (id: string) => api.call('POST', `/campaigns/${id}/send`, { key: workspace.key })

test('of two concurrent sends one returns 202 and one 409, in 100 rounds', {
  timeout: 60_000,
}, async () => {
  for (let round = 0; round < 100; round++) {
    const { id } = await create({ listId: audience.id })
    const responses = await Promise.all([send(id), send(id)])
    expect(countStatuses(responses)).toEqual({ 202: 1, 409: 1 })
  }
})

test('previews, sends, pauses, resumes and cancels a campaign', async () => {
  const { id } = await create({ listId: audience.id, html: '<p>Hi {{ contact.firstName | default: "you" }}</p>' })
  const call = (method: string, step: string, body?: unknown) =>
    api.call(method, `/campaigns/${id}${step}`, { key: workspace.key, ...(body !== undefined && { body }) })
  expect(await call('GET', '/audience')).toMatchObject({
    status: 200,
    body: { willReceive: 3, excluded: { pending: 0, unsubscribed: 0, bounced: 0, complained: 0 } },
  })
  const preview = await call('POST', '/preview', {})
  expect(preview).toMatchObject({
    status: 200,
    body: { subject: 'News for Ada', html: expect.stringContaining('Hi Ada') },
  })
  expect(String(preview.body['text'])).toContain('Hi Ada')
  expectError(
    await call('POST', '/pause'),
    409,
    'Only a campaign that is SENDING can be paused: this campaign is DRAFT',
  )
  await send(id)
  for (const [step, status] of [
    ['/pause', 'PAUSED'],
    ['/pause', 'PAUSED'],
    ['/resume', 'SENDING'],
    ['/resume', 'SENDING'],
    ['/cancel', 'CANCELED'],
    ['/cancel', 'CANCELED'],
  ] as const) {
    expect(await call('POST', step)).toMatchObject({ status: 200, body: { id, status, queued: 3 } })
  }
  expectError(await call('POST', '/resume'), 409)
  expectError(await call('POST', '/retry', {}), 409)
  expectError(await call('DELETE', ''), 409)
  const none = { sent: 0, failed: 0, skipped: 0, interrupted: 0, opened: 0, clicked: 0, unsubscribed: 0 }
  expect((await call('GET', '/stats')).body).toEqual({ queued: 3, pending: 3, ...none, bounced: 0, complained: 0 })
  const people = await call('GET', '/recipients?status=PENDING&limit=2')
  expect(people.body).toMatchObject({
    data: [{ status: 'PENDING' }, { status: 'PENDING' }],
    nextCursor: expect.any(String),
  })
  expectError(await call('GET', '/recipients?status=WAITING'), 400)
  expectError(await call('POST', '/retry', { includeInterrupted: 'yes' }), 400)
})

test('a preview of a template over its limits returns 400 without internals', async () => {
  const { id } = await create({ html: '{% for i in (1..100000000) %}x{% endfor %}' })
  const response = await api.call('POST', `/campaigns/${id}/preview`, { key: workspace.key, body: {} })
  expect(expectError(response, 400).message).toMatch(/^The template cannot be rendered: memory alloc limit exceeded/)
  const draft = await create()
  expect(await api.call('DELETE', `/campaigns/${draft.id}`, { key: workspace.key })).toMatchObject({ status: 204 })
  expectError(await api.call('GET', `/campaigns/${draft.id}`, { key: workspace.key }), 404)
})

test('a bounce report requires `permanent` and can be repeated', async () => {
  const report = (body: unknown) => api.call('POST', '/mail-events', { key: workspace.key, body })
  const bounce = { type: 'BOUNCE', email: freshEmail(), permanent: true, detail: '550 5.1.1 unknown' }
  for (let time = 0; time < 2; time++)
    expect(await report(bounce)).toMatchObject({ status: 202, body: { success: true } })
  expect(await report({ type: 'COMPLAINT', email: freshEmail() })).toMatchObject({ status: 202 })
  for (const [field, value] of [
    ['type', 'DELIVERY'],
    ['email', 'x'],
    ['permanent', undefined],
    ['permanent', 'yes'],
    ['messageId', ''],
    ['messageId', 'a\nb'],
    ['detail', 'x'.repeat(2_001)],
    ['reason', 'x'],
  ] as const) {
    const { issues } = expectError(await report({ ...bounce, [field]: value }), 400)
    expect(issues?.map(({ path }) => path)).toEqual([field])
  }
})
