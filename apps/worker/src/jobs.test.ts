import { newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { expect, test } from 'vitest'
import { isKnownJob } from './jobs.ts'
import { describeResult } from './jobs/drain-webhook.ts'

const named = { workspaceId: newId('wsp'), id: uuidOf(newId('dlv')) }

test('a job that names its work is ours; on maintenance also one that comes by the clock', () => {
  expect(isKnownJob('webhooks', named)).toBe(true)
  expect(isKnownJob('maintenance', named)).toBe(true)
  expect(isKnownJob('maintenance', {})).toBe(true)
})

test.each([undefined, null, {}, [], 'x', { ...named, id: 'x' }, { ...named, workspaceId: 5 }, { id: named.id }])(
  'a job that somebody adds at the dashboard with %j is not',
  (data) => {
    expect(isKnownJob('webhooks', data)).toBe(false)
  },
)

test('the dashboard shows what a drain did, and when it drained nothing', () => {
  expect(describeResult({ delivered: 42, failed: 1, durationMs: 3_000 })).toBe('42 delivered, 1 failed, 3.0 s')
  expect(describeResult({ delivered: 0, failed: 0, durationMs: 5, isSkipped: true })).toMatch(/^Postponed/)
})
