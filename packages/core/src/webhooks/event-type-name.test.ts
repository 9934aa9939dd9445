import { expect, test } from 'vitest'
import { z } from 'zod'
import { EventTypeName } from './event-type-name.ts'

const Type = EventTypeName(['contact.created', 'deal.won', '*'])
const messagesOf = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value).error?.issues.map(({ message }) => message)

const message = 'must be an event type of GET /event-types'

test.each([
  ['contact.create', `${message} (did you mean "contact.created"?)`],
  ['deal_won', `${message} (did you mean "deal.won"?)`],
  ['invoice.paid', message],
  [5, message],
  [undefined, message],
])('%# an unknown event type gets the nearest type: %s', (value, expected) => {
  expect(messagesOf(Type, value)).toEqual([expected])
})

test('a field with other types has a message of its own', () => {
  expect(messagesOf(EventTypeName(['deal.won'], 'must be deal.won'), 5)).toEqual(['must be deal.won'])
})

test('only the first five entries of an array get a suggestion', () => {
  const messages = messagesOf(z.array(Type), Array<string>(1_000).fill('deal.own')) ?? []
  expect(messages).toHaveLength(1_000)
  expect(messages.map((text) => text.includes('did you mean')).lastIndexOf(true)).toBe(4)
})
