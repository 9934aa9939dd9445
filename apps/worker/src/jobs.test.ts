import { newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { expect, test } from 'vitest'
import { isOurs } from './jobs.ts'

const named = { workspaceId: newId('wsp'), id: uuidOf(newId('dlv')) }

test('a job that names its work is ours; on maintenance also one that comes by the clock', () => {
  expect(isOurs('webhooks', named)).toBe(true)
  expect(isOurs('maintenance', named)).toBe(true)
  expect(isOurs('maintenance', {})).toBe(true)
})

test.each([undefined, null, {}, [], 'x', { ...named, id: 'x' }, { ...named, workspaceId: 5 }, { id: named.id }])(
  'a job that somebody adds at the dashboard with %j is not',
  (data) => {
    expect(isOurs('webhooks', data)).toBe(false)
  },
)
