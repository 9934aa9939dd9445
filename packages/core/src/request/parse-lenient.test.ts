import { expect, test } from 'vitest'
import { z } from 'zod'
import { parseLenient } from './parse-lenient.ts'
import { SingleLine } from '../kernel/validation.ts'

const Item = z.strictObject({ name: SingleLine(100), note: z.string().optional() })
const Input = z.strictObject({
  email: z.string(),
  name: z.string().default(''),
  company: z.string().nullable().optional(),
  tags: z.array(z.string()).optional(),
  items: z.array(Item).optional(),
  either: z.union([z.string(), Item]).optional(),
})
const parse = (input: unknown) => parseLenient(Input, input)
const issuesOf = (input: unknown) => parse(input).error?.issues.map(({ path, message }) => [path.join('.'), message])

test('null is as if left out where the field is optional, at any depth', () => {
  const input = {
    email: 'a',
    name: null,
    tags: null,
    items: [{ name: 'x', note: null }],
    either: { name: 'x', note: null },
  }
  expect(parse(input).data).toEqual({ email: 'a', name: '', items: [{ name: 'x' }], either: { name: 'x' } })
  expect(input.items).toEqual([{ name: 'x', note: null }])
})

test('null is kept where it is a value', () => {
  expect(parse({ email: 'a', company: null, name: null }).data).toEqual({ email: 'a', company: null, name: '' })
})

test('a required field that is null is required', () => {
  expect(issuesOf({ email: null })).toEqual([['email', 'is required']])
  expect(issuesOf({ email: 'a', items: [{ name: null }] })).toEqual([['items.0.name', 'is required']])
})

test('null elsewhere is an error: a body, an entry of an array, an unknown field', () => {
  expect(issuesOf(null)).toEqual([['', 'must be an object']])
  expect(issuesOf({ email: 'a', tags: ['x', null] })).toEqual([['tags.1', 'must be a string']])
  expect(parse({ email: 'a', unknown: null }).success).toBe(false)
  expect(parse({ email: 'a', '': null }).success).toBe(false)
})

test('null is an error under a name that the schema leaves open', () => {
  const Open = z
    .object({ id: z.string().optional() })
    .catchall(z.union([z.string(), Item], 'must be a text or an item'))
  const open = (either: object) =>
    parseLenient(z.strictObject({ either: z.union([Open, z.array(z.string())]) }), { either })
  expect(open({ id: null, domain: null }).error?.issues).toMatchObject([{ code: 'invalid_union', path: ['either'] }])
  expect(open({ id: null, domain: 'x', item: { name: 'x', note: null } }).data).toEqual({
    either: { domain: 'x', item: { name: 'x' } },
  })
})
