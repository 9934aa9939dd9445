import { expect, test } from 'vitest'
import { z } from 'zod'
import { describeIssue } from './zod-messages.ts'

z.config({ localeError: describeIssue })

test.each<[z.ZodType, unknown, string]>([
  [z.string(), ['x'], 'must be a string'],
  [z.string(), undefined, 'is required'],
  [z.number(), 'x', 'must be a number'],
  [z.int(), 1.5, 'must be a whole number'],
  [z.boolean(), 'true', 'must be true or false'],
  [z.array(z.string()), {}, 'must be an array'],
  [z.object({}), [], 'must be an object'],
  [z.record(z.string(), z.string()), 1, 'must be an object'],
  [z.string().max(1_000), 'x'.repeat(1_001), 'must have at most 1,000 characters'],
  [z.array(z.string()).min(2), ['x'], 'must have at least 2 items'],
  [z.number().max(5), 6, 'must be at most 5'],
  [z.number().positive(), 0, 'must be more than 0'],
  [z.enum(['a', 'b']), 'c', 'must be one of a, b'],
  [z.literal('a'), 'c', 'must be a'],
  [z.uuid(), 'c', 'is invalid'],
  [z.union([z.string(), z.number()]), true, 'is invalid'],
])('%# an invalid value is described in plain words', (schema, value, message) => {
  expect(schema.safeParse(value).error?.issues[0]?.message).toBe(message)
})
