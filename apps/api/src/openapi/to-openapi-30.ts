/** The document for generators that read only OpenAPI 3.0, whose schemas know neither `null` as a type nor `const`. */
type Json = Record<string, unknown>
interface Schema extends Json {
  $ref?: string
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  examples?: unknown[]
  anyOf?: Schema[]
}

interface License {
  name: string
  identifier: string
}

type Schemas = Record<string, Schema>
interface Document {
  webhooks?: unknown
  info: { license: License }
  components: { schemas: Schemas }
}

/** Without webhooks, which 3.0 cannot describe: the schemas of events remain. */
export function toOpenApi30(document: object): object {
  const { webhooks: _, info, ...rest } = document as Document
  const { name, identifier } = info.license
  const license = { name, url: `https://spdx.org/licenses/${identifier}.html` }
  return { ...(convert(rest, rest.components.schemas) as Json), openapi: '3.0.3', info: { ...info, license } }
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const mapValues = (object: Json, map: (value: unknown, key: string) => unknown) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]))

/** Converts every schema below a part of the document. */
function convert(node: unknown, named: Schemas): unknown {
  if (Array.isArray(node)) return node.map((entry) => convert(entry, named))
  if (!isObject(node)) return node
  return mapValues(node, (value, key) => {
    if (/^examples?$/.test(key)) return value
    if (key === 'schema') return toSchema(value, named)
    const isNamed = key === 'schemas' && isObject(value)
    return isNamed ? mapValues(value, (schema) => toSchema(schema, named)) : convert(value, named)
  })
}

function toSchema(given: unknown, named: Schemas): unknown {
  // `additionalProperties` may be a boolean.
  if (!isObject(given)) return given
  const { $ref, type, const: only, examples, propertyNames: _, anyOf, ...rest } = given as Schema
  const schema: Schema = {
    ...mapValues(rest, (value, keyword) => convertKeyword(value, keyword, named)),
    ...(only !== undefined && { type: typeof only, enum: [only] }),
    ...(examples !== undefined && { example: examples[0] }),
  }
  // 3.0 ignores everything beside a reference.
  if ($ref !== undefined) return Object.keys(schema).length === 0 ? { $ref } : { ...schema, allOf: [{ $ref }] }
  const members = anyOf?.map((member) => (member.type === 'null' ? member : (toSchema(member, named) as Schema)))
  return withMembers(schema, members ?? [type ?? []].flat().map((one) => ({ type: one })), named)
}

function convertKeyword(value: unknown, keyword: string, named: Schemas): unknown {
  if (keyword === 'properties' && isObject(value)) return mapValues(value, (schema) => toSchema(schema, named))
  if (Array.isArray(value) && /^(?:allOf|oneOf)$/.test(keyword)) return value.map((schema) => toSchema(schema, named))
  return /^(?:items|additionalProperties|not)$/.test(keyword) ? toSchema(value, named) : value
}

/** A schema that is one of several, of which `null` becomes `nullable`. */
function withMembers(schema: Schema, given: Schema[], named: Schemas): Schema {
  const members = given.filter(({ type }) => type !== 'null')
  const isNullable = members.length < given.length
  const [first] = members
  // Nothing but null: 3.0 has no such type.
  if (first === undefined) return isNullable ? { ...schema, type: 'string', nullable: true, enum: [null] } : schema
  if (members.length > 1) return isNullable ? asNullable({ ...schema, anyOf: members }) : { ...schema, anyOf: members }
  if (!isNullable) return { ...(first.$ref === undefined ? first : { allOf: [first] }), ...schema }
  return asNullable({ ...(first.$ref === undefined ? first : resolve(first.$ref, named)), ...schema })
}

/** A reference refuses null whatever stands beside it, so its schema is repeated. */
const resolve = (reference: string, named: Schemas) =>
  toSchema(named[reference.split('/').at(-1) ?? ''], named) as Schema

/** `nullable` has an effect only beside a type, and an enum must contain null too. */
function asNullable(schema: Schema): Schema {
  const { anyOf, enum: values } = schema
  if (anyOf)
    return { ...schema, anyOf: anyOf.map((member) => (member.$ref === undefined ? asNullable(member) : member)) }
  return { ...schema, ...(values && { enum: [...values, null] }), nullable: true }
}
