/**
 * Makes the JSON Schemas that Zod generates easier to read, for people and for code generators. This changes only the
 * documentation: validation uses the Zod schemas.
 */
import type { z } from 'zod'

interface JsonSchema extends Record<string, unknown> {
  anyOf?: JsonSchema[]
  description?: string
}

/** The `override` of `z.toJSONSchema`: an object may get more properties later, unless its schema is strict. */
export function allowMoreProperties({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: object }) {
  const { def } = zodSchema._zod
  if (def.type === 'object' && !def.catchall) delete (jsonSchema as JsonSchema)['additionalProperties']
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
