import { expect, test } from 'vitest'
import { newId } from '../kernel/ids.ts'
import { deriveStatus, hasLeft, isDatedBy, type SubscriptionState } from './derive-status.ts'
import type { Reason, SuppressionRow } from './suppression-rows.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'

const listId = newId('lst')
const [first, second] = [timestampAt('2026-01-01'), timestampAt('2026-02-01')]
const state = (given: Partial<SubscriptionState> = {}): SubscriptionState => ({
  workspaceId: newId('wsp'),
  listId,
  contactId: newId('con'),
  status: 'CONFIRMED',
  ownStatus: 'CONFIRMED',
  ownStatusAt: first,
  source: null,
  confirmedAt: null,
  consent: null,
  unsubscribedAt: null,
  createdAt: first,
  ...given,
})
const row = (reason: Reason, given: Partial<SuppressionRow> = {}): SuppressionRow => ({
  workspaceId: newId('wsp'),
  id: newId('sup'),
  emailHash: '',
  listId: null,
  reason,
  source: 'API',
  actorId: null,
  note: null,
  createdAt: first,
  firstSaidAt: first,
  saidAt: first,
  undoableUntil: null,
  contactId: null,
  ...given,
})
const derive = (current: SubscriptionState, rows: SuppressionRow[], rest = {}) =>
  deriveStatus(current, { rows, withdrawn: [], former: [], wasRemoved: false, isNamed: false, ...rest })

test('the first that applies in the table decides', () => {
  const all = [row('MANUAL'), row('BOUNCED'), row('OPTED_OUT'), row('COMPLAINED')]
  const statuses = [4, 3, 2, 1, 0].map((count) => derive(state(), all.slice(0, count)).status)
  expect(statuses).toEqual(['COMPLAINED', 'UNSUBSCRIBED', 'BOUNCED', 'UNSUBSCRIBED', 'CONFIRMED'])
  expect(derive(state({ ownStatus: 'REMOVED' }), [row('BOUNCED')]).status).toBe('UNSUBSCRIBED')
})

test('an opt-out from another list decides nothing', () => {
  expect(derive(state(), [row('OPTED_OUT', { listId: newId('lst') })]).status).toBe('CONFIRMED')
  expect(derive(state(), [row('OPTED_OUT', { listId })]).status).toBe('UNSUBSCRIBED')
})

test('without its row, an ended subscription opens only if it is named', () => {
  const ended = state({ status: 'UNSUBSCRIBED', unsubscribedAt: first })
  expect(derive(ended, []).status).toBe('UNSUBSCRIBED')
  expect(derive(ended, [], { isNamed: true })).toEqual({ status: 'CONFIRMED', unsubscribedAt: null })
})

test('a bounce replaces no opt-out whose row is lost, but a block', () => {
  const ended = state({ status: 'UNSUBSCRIBED', unsubscribedAt: first })
  expect(derive(ended, [row('BOUNCED')])).toEqual({ status: 'UNSUBSCRIBED', unsubscribedAt: first })
  expect(derive(ended, [row('BOUNCED'), row('MANUAL')])).toEqual({ status: 'BOUNCED', unsubscribedAt: null })
})

test('a repetition does not move the moment; what remains dates it anew', () => {
  const ended = state({ status: 'UNSUBSCRIBED', unsubscribedAt: first })
  const own = row('OPTED_OUT', { listId })
  const later = row('OPTED_OUT', { firstSaidAt: second, createdAt: second })
  expect(derive(ended, [own, later]).unsubscribedAt).toEqual(first)
  expect(derive(ended, [later], { former: [own] }).unsubscribedAt).toEqual(second)
})

test('a row dates what it has ended, and nothing else', () => {
  const ended = state({ status: 'UNSUBSCRIBED', unsubscribedAt: first })
  expect(isDatedBy(ended, row('MANUAL'))).toBe(true)
  expect(isDatedBy(ended, row('MANUAL', { firstSaidAt: second, createdAt: second }))).toBe(false)
})

test('a complaint becomes less only with its row', () => {
  const ended = state({ status: 'COMPLAINED', unsubscribedAt: first })
  const rows = [row('OPTED_OUT', { listId })]
  expect(derive(ended, rows).status).toBe('COMPLAINED')
  expect(derive(ended, rows, { withdrawn: [row('COMPLAINED')] }).status).toBe('UNSUBSCRIBED')
})

test('a person has left by what they said, or by an ending that nothing explains', () => {
  const ended = { status: 'UNSUBSCRIBED', unsubscribedAt: first } as const
  expect(hasLeft(undefined, [row('OPTED_OUT')])).toBe(true)
  expect(hasLeft(state(ended), [row('MANUAL', { firstSaidAt: second, createdAt: second })])).toBe(true)
  for (const status of ['BOUNCED', 'COMPLAINED'] as const) expect(hasLeft(state({ status }), [])).toBe(true)
  expect(hasLeft(undefined, [row('BOUNCED'), row('MANUAL')])).toBe(false)
  expect(hasLeft(state(), [])).toBe(false)
  expect(hasLeft(state({ ...ended, ownStatus: 'REMOVED' }), [])).toBe(false)
  expect(hasLeft(state(ended), [row('MANUAL')])).toBe(false)
  expect(hasLeft(state({ status: 'BOUNCED' }), [row('BOUNCED')])).toBe(false)
})
