import { expect, test } from 'vitest'
import { z } from 'zod'
import { completeJsonSchema, simplifySchemas } from './json-schema.ts'

function describe(schema: z.ZodType, io: 'input' | 'output' = 'output') {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io, override: completeJsonSchema })
  simplifySchemas(described)
  return described
}

test('an integer shows only the bounds that its schema sets', () => {
  expect(describe(z.number().int())).toEqual({ type: 'integer' })
  expect(describe(z.number().int().min(0).max(100))).toEqual({ type: 'integer', minimum: 0, maximum: 100 })
  const largest = Number.MAX_SAFE_INTEGER
  expect(describe(z.number().int().min(0).max(largest))).toEqual({ type: 'integer', minimum: 0, maximum: largest })
  expect(describe(z.number().int().nullable())).toEqual({ type: ['integer', 'null'] })
})

test('a nullable type keeps its description, its format and its own description first', () => {
  const text = z.string().describe('inner').meta({ format: 'date-time' })
  expect(describe(text.nullable())).toEqual({
    type: ['string', 'null'],
    format: 'date-time',
    description: 'inner',
  })
  expect(describe(text.nullable().describe('outer'))).toMatchObject({ description: 'outer' })
  expect(describe(z.object({ a: text, b: text.nullable() }))).toMatchObject({ properties: { a: { type: 'string' } } })
})

test('a nullable enum stays a union, and a union of one member becomes the member', () => {
  expect(describe(z.enum(['A', 'B']).nullable())).toMatchObject({ anyOf: [{ enum: ['A', 'B'] }, { type: 'null' }] })
  const schema = { anyOf: [{ type: 'string' }] }
  simplifySchemas(schema)
  expect(schema).toEqual({ type: 'string' })
})

test('a format replaces its pattern, and a pattern alone stays', () => {
  expect(describe(z.iso.datetime())).toEqual({ type: 'string', format: 'date-time' })
  expect(describe(z.string().regex(/^a$/))).toEqual({ type: 'string', pattern: '^a$' })
})

test('only a strict object excludes more properties', () => {
  expect(describe(z.object({ a: z.string() }))).not.toHaveProperty('additionalProperties')
  expect(describe(z.strictObject({ a: z.string() }), 'input')).toMatchObject({ additionalProperties: false })
})

test('an example is not simplified', () => {
  const example = { anyOf: [{ type: 'string' }], minimum: Number.MIN_SAFE_INTEGER }
  const schema = { example, examples: [example] }
  simplifySchemas(schema)
  expect(schema).toEqual({ example, examples: [example] })
})
