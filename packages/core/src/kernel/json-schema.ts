/**
 * Makes the JSON Schemas that Zod generates easier to read, for people and for code generators. This changes only the
 * documentation: validation uses the Zod schemas.
 */
import { z } from 'zod'

interface JsonSchema extends Record<string, unknown> {
  anyOf?: JsonSchema[]
  description?: string
}

/** The `override` of `z.toJSONSchema`. */
export function completeJsonSchema({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: object }) {
  const schema = jsonSchema as JsonSchema
  // Later versions may add properties to an object, unless its schema is strict.
  if (zodSchema instanceof z.ZodObject && !zodSchema.def.catchall) delete schema['additionalProperties']
  // Zod leaves these out where parsing transforms the value. Here they describe the value before.
  if (zodSchema instanceof z.ZodDefault) schema['default'] ??= zodSchema.def.defaultValue
  const { examples } = z.globalRegistry.get(zodSchema) ?? {}
  if (Array.isArray(examples)) schema['examples'] ??= examples
}

/** Simplifies every schema in a JSON document, in place. */
export function simplifySchemas(node: unknown): void {
  if (typeof node !== 'object' || node === null) return
  for (const [key, child] of Object.entries(node)) if (!/^examples?$/.test(key)) simplifySchemas(child)
  if (Array.isArray(node)) return
  const schema = node as JsonSchema
  // Zod limits every integer to the safe integers of JavaScript.
  if (schema['minimum'] === Number.MIN_SAFE_INTEGER) {
    delete schema['minimum']
    if (schema['maximum'] === Number.MAX_SAFE_INTEGER) delete schema['maximum']
  }
  // The format says the same.
  if (typeof schema['format'] === 'string') delete schema['pattern']
  if (schema['minLength'] === 0) delete schema['minLength']
  // The keys of a JSON object are always strings.
  if (JSON.stringify(schema['propertyNames']) === '{"type":"string"}') delete schema['propertyNames']
  if (Array.isArray(schema.anyOf)) flattenUnion(schema, schema.anyOf)
}

/** "A string or null" becomes one type with two names, and a union of one member becomes that member. */
function flattenUnion(schema: JsonSchema, members: JsonSchema[]) {
  const [member, ...others] = members.filter(({ type }) => type !== 'null')
  if (!member || others.length > 0) return
  const isNullable = members.length > 1
  const isPlain = typeof member['type'] === 'string' && !('enum' in member) && !('const' in member)
  if (isNullable && !isPlain) {
    if (member.description) schema.description ??= member.description
    return
  }
  delete schema.anyOf
  const { description } = schema
  Object.assign(schema, member, isNullable && { type: [member['type'], 'null'] }, description && { description })
}
