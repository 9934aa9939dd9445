import { newId, uuidOf } from '@rapport/core/kernel/ids.ts'
import { expect, test } from 'vitest'
import { drainJobOf } from '@rapport/core/work/queues.ts'
import { isKnownJob } from './queue-handlers.ts'
import { describeResult } from '../jobs/drain-webhooks.ts'

const workspaceId = newId('wsp')
const validJob = { workspaceId, kind: 'CLEAR_LIST', id: uuidOf(newId('lst')) }

test('accepts a job that names a record, and an empty maintenance job of the schedule', () => {
  expect(isKnownJob('webhooks', drainJobOf(workspaceId))).toBe(true)
  expect(isKnownJob('maintenance', validJob)).toBe(true)
  expect(isKnownJob('maintenance', {})).toBe(true)
})

test.each([
  undefined,
  null,
  {},
  [],
  'x',
  { ...drainJobOf(workspaceId), id: 'x' },
  { ...drainJobOf(workspaceId), workspaceId: 5 },
  { id: validJob.id },
])('rejects a job that was added in the dashboard with the data %j', (data) => {
  expect(isKnownJob('webhooks', data)).toBe(false)
})

test('rejects a job of another queue, and one without a kind', () => {
  expect(isKnownJob('webhooks', validJob)).toBe(false)
  expect(isKnownJob('mail', validJob)).toBe(false)
  expect(isKnownJob('webhooks', { workspaceId, id: uuidOf(newId('whk')) })).toBe(false)
})

test('the dashboard shows the result of a drain', () => {
  expect(describeResult({ delivered: 42, failed: 1, durationMs: 3_000 })).toBe('42 delivered, 1 failed, 3.0 s')
})
