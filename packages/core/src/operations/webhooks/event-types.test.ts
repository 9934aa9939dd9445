import { expect, test } from 'vitest'
import { describeEventTypes, eventDefinitions } from './event-types.ts'

const examples = Object.fromEntries(describeEventTypes().map(({ type, example }) => [type, example]))

test.each(Object.values(eventDefinitions))('the example of $type matches its schema', ({ type, schema }) => {
  expect(examples[type]).toMatchObject({ id: expect.stringMatching(/^evt_/), type, timestamp: expect.any(String) })
  expect(schema.parse(examples[type]?.data)).toEqual(examples[type]?.data)
})

test.each([
  ['deal.won', { status: 'WON', closedAt: expect.any(String) }],
  ['deal.lost', { status: 'LOST', closedAt: expect.any(String) }],
  ['task.created', { status: 'OPEN', completedAt: null }],
  ['task.completed', { status: 'DONE', completedAt: expect.any(String) }],
  ['subscription.created', { status: 'PENDING', confirmedAt: null, unsubscribedAt: null }],
  ['subscription.confirmed', { status: 'CONFIRMED', confirmedAt: expect.any(String), unsubscribedAt: null }],
  ['subscription.unsubscribed', { status: 'UNSUBSCRIBED', unsubscribedAt: expect.any(String) }],
  ['campaign.sending', { status: 'SENDING', queued: 1207, sentAt: expect.any(String), completedAt: null }],
  ['campaign.sent', { status: 'SENT', queued: 1207, completedAt: expect.any(String) }],
  ['campaign.canceled', { status: 'CANCELED', queued: 1207, completedAt: null }],
  ['import.completed', { status: 'COMPLETED', completedAt: expect.any(String) }],
  ['webhook.disabled', { enabled: false, disabledReason: expect.any(String) }],
])('the example of %s shows what has happened', (type, data) => {
  expect(examples[type]?.data).toMatchObject(data)
})

test.each([
  ['contact.updated', 'contact.created'],
  ['deal.updated', 'deal.created'],
])('the example of %s differs from that of %s', (updated, created) => {
  expect(examples[updated]?.data).not.toEqual(examples[created]?.data)
})
