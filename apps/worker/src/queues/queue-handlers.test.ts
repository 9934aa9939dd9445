import { newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { expect, test } from 'vitest'
import { isKnownJob } from './queue-handlers.ts'
import { describeResult } from '../jobs/drain-webhook.ts'

const validJob = { workspaceId: newId('wsp'), id: uuidOf(newId('dlv')) }

test('accepts a job that names a record, and an empty maintenance job of the schedule', () => {
  expect(isKnownJob('webhooks', validJob)).toBe(true)
  expect(isKnownJob('maintenance', { ...validJob, kind: 'CLEAR_LIST' })).toBe(true)
  expect(isKnownJob('maintenance', {})).toBe(true)
})

test.each([
  undefined,
  null,
  {},
  [],
  'x',
  { ...validJob, id: 'x' },
  { ...validJob, workspaceId: 5 },
  { id: validJob.id },
])('rejects a job that was added in the dashboard with the data %j', (data) => {
  expect(isKnownJob('webhooks', data)).toBe(false)
})

test('rejects a job of another queue, and one without a kind, as in the release before', () => {
  expect(isKnownJob('webhooks', { ...validJob, kind: 'CLEAR_LIST' })).toBe(false)
  expect(isKnownJob('mail', { ...validJob, kind: 'CLEAR_LIST' })).toBe(false)
  expect(isKnownJob('maintenance', validJob)).toBe(false)
})

test('the dashboard shows the result of a drain, or that it was skipped', () => {
  expect(describeResult({ delivered: 42, failed: 1, durationMs: 3_000 })).toBe('42 delivered, 1 failed, 3.0 s')
  expect(describeResult({ delivered: 0, failed: 0, durationMs: 5, isSkipped: true })).toMatch(/^Skipped/)
})
