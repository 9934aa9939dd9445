import type { Campaign } from '@rapport/core/campaigns/campaigns.schema.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeAll, expect, test } from 'vitest'
import { expectError, freshEmail, startTestApi } from '../../test/testing.ts'

const api = useForFile(() => startTestApi())
const workspace = useForFile(() => api.signUp())
let audience: List
beforeAll(async () => {
  audience = await api.create<List>('/lists', workspace.key, { name: 'Newsletter' })
  for (let person = 0; person < 3; person++) {
    await api.create(`/lists/${audience.id}/subscribers`, workspace.key, { email: freshEmail(), status: 'CONFIRMED' })
  }
})

const create = (given: Record<string, unknown> = {}) =>
  api.create<Campaign>('/campaigns', workspace.key, {
    name: 'November',
    subject: 'News for {{ contact.firstName }}',
    listId: audience.id,
    ...given,
  })

test('a preview of a template over its limits returns 400 without internals', async () => {
  const { id } = await create({ html: '{% for i in (1..100000000) %}x{% endfor %}' })
  const response = await api.call('POST', `/campaigns/${id}/preview`, { key: workspace.key, body: {} })
  expect(expectError(response, 400).message).toMatch(/^The template cannot be rendered: memory alloc limit exceeded/)
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
