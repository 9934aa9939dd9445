/** Generates requests from the OpenAPI document: valid values mixed with hostile ones. */
import fc from 'fast-check'
import type { Pool } from './records.ts'

/** A schema of the OpenAPI document. */
export interface Schema {
  $ref?: string
  type?: string | string[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  format?: string
  examples?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  minimum?: number
  maximum?: number
  maxLength?: number
  maxItems?: number
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  schema: Schema
  example?: string
}

const hostileTexts = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  '\u202e\u200b',
  'x'.repeat(5_000),
  '%',
  '_%\\',
  "' or 1=1 --",
  '../../etc/passwd',
  '__proto__',
  'null',
  '<script>alert(1)</script>',
  'a@example.com\r\nBcc: b@example.com',
  '{{ 7 | times: 7 }}{% for',
  '0000-00-00T00:00:00Z',
  '275760-09-13T00:00:00Z',
  '2026-02-30T00:00:00Z',
  '2026-11-21T06:35:49+99:99',
  'con_00000000000000000000000000',
  'con_7zzzzzzzzzzzzzzzzzzzzzzzzz',
  'http://127.0.0.1:99999/',
]
const hostileValues = [null, true, -1, -0, 1.5, 1e21, 2 ** 53, 2 ** 31, [], {}, [[[]]], { a: { b: [1] } }]
const hostileText = fc.constantFrom(...hostileTexts)
const hostile = fc.oneof(hostileText, fc.constantFrom<unknown>(...hostileValues))

const texts: [RegExp, fc.Arbitrary<string>][] = [
  [/email|replyTo/i, fc.integer({ min: 0, max: 40 }).map((number) => `person-${number}@example.org`)],
  [/^limit$/, fc.integer({ min: 1, max: 100 }).map(String)],
  [/url$/i, fc.constant('https://example.com/hook')],
  [/password/i, fc.string({ minLength: 12, maxLength: 40 })],
]

interface Source {
  schemas: Record<string, Schema>
  pool: Pool
  /** The named schemas that contain the current one. */
  outer?: readonly string[]
}

/** A schema that contains itself, such as a filter, has values of so many levels. */
const maxLevels = 3

/** Values for a schema. At every level one in ten is hostile. `name` is the name of the field. */
export function valuesOf(source: Source, schema: Schema, name = ''): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: fittingValues(source, schema, name) }, { weight: 1, arbitrary: hostile })
}

function fittingValues(source: Source, schema: Schema, name: string): fc.Arbitrary<unknown> {
  const { $ref, anyOf, oneOf, allOf, type } = schema
  if ($ref) return namedValues(source, $ref.split('/').at(-1) ?? '', name)
  const choices = anyOf ?? oneOf ?? allOf
  if (choices) return fc.oneof(...choices.map((choice) => fittingValues(source, choice, name)))
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (Array.isArray(type)) return fc.oneof(...type.map((one) => fittingValues(source, { ...schema, type: one }, name)))
  if (type === 'string') return fittingTexts(source, schema, name)
  if (type === 'boolean') return fc.boolean()
  if (type === 'null') return fc.constant(null)
  if (type === 'integer' || type === 'number') {
    return fc.integer({ min: schema.minimum ?? -1_000, max: Math.min(schema.maximum ?? 1_000, 2 ** 40) })
  }
  if (type === 'array') {
    return fc.array(valuesOf(source, schema.items ?? {}, name), { maxLength: Math.min(schema.maxItems ?? 4, 4) })
  }
  if (type === 'object') return fittingObjects(source, schema)
  return fc.jsonValue({ maxDepth: 2 })
}

function namedValues(source: Source, schemaName: string, name: string): fc.Arbitrary<unknown> {
  const { schemas, outer = [] } = source
  const schema = schemas[schemaName] ?? {}
  const level = outer.filter((one) => one === schemaName).length
  if (level === maxLevels) return fc.constantFrom(...(schema.examples ?? [null]))
  return fittingValues({ ...source, outer: [...outer, schemaName] }, schema, name)
}

/** Filters by id, which have no example. */
const prefixes: Record<string, string> = {
  contactId: 'con',
  listId: 'lst',
  segmentId: 'seg',
  pipelineId: 'pip',
  stageId: 'stg',
  after: 'evt',
}

function fittingTexts({ pool }: Source, { format, examples = [], maxLength = 40 }: Schema, name: string) {
  const prefix = /^([a-z]{3})_/.exec(String(examples[0]))?.[1] ?? prefixes[name]
  // The last id is well-formed, but not a UUID.
  if (prefix) return fc.constantFrom(...(pool.get(prefix) ?? []), `${prefix}_${'0'.repeat(25)}f`)
  if (format === 'date-time')
    return fc
      .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString())
  const known = texts.find(([pattern]) => pattern.test(name))?.[1]
  return known ?? fc.string({ unit: 'grapheme', maxLength: Math.min(maxLength, 40) })
}

function fittingObjects(source: Source, { properties = {}, required = [], additionalProperties }: Schema) {
  const fields = Object.entries(properties).map(([name, field]) => [name, valuesOf(source, field, name)])
  const known = fc.record(Object.fromEntries(fields) as Record<string, fc.Arbitrary<unknown>>, {
    requiredKeys: required,
  })
  if (typeof additionalProperties !== 'object') return known
  const more = fc.dictionary(fc.string({ minLength: 1, maxLength: 10 }), valuesOf(source, additionalProperties))
  return fc.tuple(known, more).map(([object, others]) => ({ ...others, ...object }))
}

/** Paths with a query, with all parameters filled in. */
export function pathsOf(source: Source, template: string, parameters: Parameter[]): fc.Arbitrary<string> {
  const valueOf = ({ name, schema, example }: Parameter) =>
    valuesOf(source, { ...schema, examples: [example] }, name).map((value) => encode(value))
  const parts = Object.fromEntries(parameters.map((parameter) => [parameter.name, valueOf(parameter)]))
  const required = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
  return fc.record(parts, { requiredKeys: required }).map((values) => {
    const path = required.reduce((filled, name) => filled.replace(`{${name}}`, String(values[name])), template)
    const query = Object.entries(values).filter(([name, value]) => !required.includes(name) && value !== undefined)
    return query.length === 0 ? path : `${path}?${query.map((pair) => pair.join('=')).join('&')}`
  })
}

/** A path cannot contain a lone surrogate: clients send a replacement character instead. */
const encode = (value: unknown) => encodeURIComponent(String(value).toWellFormed())
