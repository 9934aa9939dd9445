import { expect, test } from 'vitest'
import { z } from 'zod'
import { describeIssue, describeQueryIssue, toIssues } from './zod-messages.ts'

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
  [z.array(z.string()).min(1), [], 'must have at least 1 item'],
  [z.string().max(1), 'xy', 'must have at most 1 character'],
  [z.number().max(5), 6, 'must be at most 5'],
  [z.number().positive(), 0, 'must be more than 0'],
  [z.enum(['a', 'b']), 'c', 'must be one of a, b'],
  [z.enum(['OPEN', 'WON']), 'open', 'must be one of OPEN, WON (did you mean "OPEN"?)'],
  [z.enum(['OPEN', 'WON']), 5, 'must be one of OPEN, WON'],
  [z.literal('a'), 'c', 'must be a'],
  [z.uuid(), 'c', 'is invalid'],
  [z.union([z.string(), z.number()]), true, 'is invalid'],
])('%# an invalid value is described in plain words', (schema, value, message) => {
  expect(schema.safeParse(value).error?.issues[0]?.message).toBe(message)
})

const Person = z.strictObject({ firstName: z.string().optional(), tags: z.array(z.strictObject({ name: z.string() })) })

function issuesOf(schema: z.ZodType, value: unknown, options: z.core.ParseContext<z.core.$ZodIssue> = {}) {
  return toIssues(schema.safeParse(value, options).error ?? { issues: [] })
}

test('each unknown key is an issue at its path, with a suggestion if one is near', () => {
  const value = { first_name: 'Ada', surname: 'Lovelace', tags: [{ name: 'vip', nmae: 1 }, { name: 5 }] }
  expect(issuesOf(Person, value)).toEqual([
    { path: 'tags.0.nmae', message: 'unknown field (did you mean "name"?)' },
    { path: 'tags.1.name', message: 'must be a string' },
    { path: 'first_name', message: 'unknown field (did you mean "firstName"?)' },
    { path: 'surname', message: 'unknown field' },
  ])
})

test('an unknown key that is a field of the record is read-only', () => {
  const { error = { issues: [] } } = Person.safeParse({ id: 1, firstNme: '', tags: [{ name: 'a', id: 1 }] })
  expect(toIssues(error, ['id', 'firstName', 'tags'])).toEqual([
    { path: 'tags.0.id', message: 'unknown field' },
    { path: 'id', message: 'is read-only' },
    { path: 'firstNme', message: 'unknown field (did you mean "firstName"?)' },
  ])
})

test('an unknown key of a query is a parameter', () => {
  const issues = [{ path: 'cursr', message: 'unknown parameter (did you mean "cursor"?)' }]
  expect(
    issuesOf(z.strictObject({ cursor: z.string().optional() }), { cursr: 'x' }, { error: describeQueryIssue }),
  ).toEqual(issues)
})

test('a paging parameter of other APIs names the parameter to use', () => {
  const query = z.strictObject({ cursor: z.string().optional(), limit: z.string().optional() })
  const issues = issuesOf(query, { page: '2', offset: '5', per_page: '5', cursr: 'x' }, { error: describeQueryIssue })
  expect(issues.map(({ path, message }) => `${path}: ${message}`)).toEqual([
    'page: unknown parameter (use "cursor")',
    'offset: unknown parameter (use "cursor")',
    'per_page: unknown parameter (use "limit")',
    'cursr: unknown parameter (did you mean "cursor"?)',
  ])
  expect(issuesOf(z.strictObject({}), { page: '2' }, { error: describeQueryIssue })).toEqual([
    { path: 'page', message: 'unknown parameter' },
  ])
})

test('an unknown key of one form of a union is named', () => {
  const schema = z.object({ body: z.union([z.strictObject({ force: z.boolean().optional() }), z.array(z.never())]) })
  expect(issuesOf(schema, { body: { forse: true } })).toEqual([
    { path: 'body.forse', message: 'unknown field (did you mean "force"?)' },
  ])
  expect(issuesOf(schema, { body: 'x' })).toEqual([{ path: 'body', message: 'is invalid' }])
})

test('unknown keys with line breaks or inherited names get a message each', () => {
  const keys = ['a\nb', 'constructor', 'toString', '']
  const value = Object.fromEntries(keys.map((key) => [key, 1]))
  expect(issuesOf(z.strictObject({}), value)).toEqual(keys.map((path) => ({ path, message: 'unknown field' })))
})

test('a wrong value of the only form of a union that has its type is described', () => {
  const schema = z.object({ tag: z.union([z.array(z.string()), z.string().min(1)]) })
  expect(issuesOf(schema, { tag: '' })).toEqual([{ path: 'tag', message: 'must have at least 1 character' }])
  expect(issuesOf(schema, { tag: ['a', 1] })).toEqual([{ path: 'tag.1', message: 'must be a string' }])
  expect(issuesOf(schema, { tag: 1 })).toEqual([{ path: 'tag', message: 'is invalid' }])
})
