import { expect, test } from 'vitest'
import { toOpenApi30 } from './to-openapi-30.ts'

const two = { type: 'object', description: 'two', examples: [{ a: 1 }] }

const convert = (schema: object) => {
  const info = { title: 'Test', license: { name: 'MIT', identifier: 'MIT' } }
  const document = { openapi: '3.1.0', info, webhooks: {}, components: { schemas: { One: schema, Two: two } } }
  const { components, ...rest } = toOpenApi30(document) as { components: { schemas: { One: object } } }
  expect(rest).toEqual({
    openapi: '3.0.3',
    info: { title: 'Test', license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT.html' } },
  })
  return components.schemas.One
}

const reference = { $ref: '#/components/schemas/Two' }
const cases: Record<string, [given: object, expected: object]> = {
  'a text or null': [
    { type: ['string', 'null'], maxLength: 3 },
    { type: 'string', maxLength: 3, nullable: true },
  ],
  'null alone': [{ type: 'null' }, { type: 'string', nullable: true, enum: [null] }],
  'several types': [{ type: ['string', 'number'] }, { anyOf: [{ type: 'string' }, { type: 'number' }] }],
  'several types or null': [
    { type: ['string', 'number', 'null'] },
    {
      anyOf: [
        { type: 'string', nullable: true },
        { type: 'number', nullable: true },
      ],
    },
  ],
  'an enum or null': [
    { anyOf: [{ type: 'string', enum: ['A'], description: 'inner' }, { type: 'null' }], description: 'outer' },
    { type: 'string', enum: ['A', null], description: 'outer', nullable: true },
  ],
  'an enum of a text or null': [
    { type: ['string', 'null'], enum: ['A'] },
    { type: 'string', enum: ['A', null], nullable: true },
  ],
  'a reference or null': [
    { anyOf: [reference, { type: 'null' }], description: 'outer' },
    { type: 'object', example: { a: 1 }, description: 'outer', nullable: true },
  ],
  'a union or null': [
    { anyOf: [{ anyOf: [{ type: 'string' }, reference] }, { type: 'null' }] },
    {
      anyOf: [{ type: 'string', nullable: true }, reference],
    },
  ],
  'a reference with a description': [
    { ...reference, description: 'a' },
    { allOf: [reference], description: 'a' },
  ],
  'a constant': [{ const: true }, { type: 'boolean', enum: [true] }],
  examples: [
    { type: 'string', examples: ['a', 'b'] },
    { type: 'string', example: 'a' },
  ],
  'names of properties': [
    { type: 'object', propertyNames: { maxLength: 3 }, additionalProperties: { type: ['string', 'null'] } },
    { type: 'object', additionalProperties: { type: 'string', nullable: true } },
  ],
  'properties that are named like keywords': [
    { type: 'object', properties: { const: { type: 'string' }, examples: { items: { const: 1 }, type: 'array' } } },
    {
      type: 'object',
      properties: { const: { type: 'string' }, examples: { items: { type: 'number', enum: [1] }, type: 'array' } },
    },
  ],
  'an example with the names of keywords': [
    { type: 'object', examples: [{ type: ['string', 'null'], const: 1 }] },
    { type: 'object', example: { type: ['string', 'null'], const: 1 } },
  ],
}

test.each(Object.entries(cases))('%s as OpenAPI 3.0', (_name, [given, expected]) => {
  expect(convert(given)).toEqual(expected)
  expect(convert({ type: 'array', items: given })).toEqual({ type: 'array', items: expected })
  expect(convert({ oneOf: [given, reference] })).toEqual({ oneOf: [expected, reference] })
})
