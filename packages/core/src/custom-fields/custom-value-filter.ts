/** The parameters `customField.<key>` of listings, and their condition. */
import { type SQL, sql } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import { z } from 'zod'
import type { CustomFieldObject } from '../db/schema/index.ts'
import { invalidField } from '../kernel/errors.ts'
import { withSuggestion } from '../kernel/suggestion.ts'
import type { Ctx } from '../request/context.ts'
import { checkCustomValue, findCustomFields, parseCustomValue, readCustomFieldKeys } from './custom-fields.ts'

/**
 * Collects `customField.<key>` parameters, whose keys are not known in advance, and rejects any other unknown
 * parameter.
 */
export function collectCustomFields<Known extends z.ZodRawShape>(known: z.ZodObject<Known>) {
  const prefix = 'customField.'
  // Excludes inherited names such as "constructor".
  const isNamed = (name: string) => Object.hasOwn(known.shape, name)
  const schema = known.catchall(z.string().max(2_000)).transform((query) => {
    const entries = Object.entries(query)
    const named = Object.fromEntries(entries.filter(([name]) => isNamed(name)))
    const others = entries.filter(([name]) => !isNamed(name))
    const customFields = Object.fromEntries(others.map(([name, value]) => [name.slice(prefix.length), String(value)]))
    return { ...(named as z.output<z.ZodObject<Known>>), customFields }
  })
  // Checked before parsing, because parsing drops "__proto__".
  return z.preprocess((query: Record<string, unknown>, check) => {
    const unknown = Object.keys(query).filter((name) => !isNamed(name) && !name.startsWith(prefix))
    if (unknown.length > 0) check.addIssue({ code: 'unrecognized_keys', keys: unknown, input: query, inst: known })
    return query
  }, schema)
}

interface Filtered {
  object: CustomFieldObject
  column: AnyPgColumn
}

/** The condition for records with these values. Throws `validation_error` for an unknown key and an invalid value. */
export async function hasCustomValues(
  ctx: Ctx,
  { object, column }: Filtered,
  customFields: Record<string, string>,
): Promise<SQL | undefined> {
  const keys = Object.keys(customFields)
  if (keys.length === 0) return undefined
  const fields = await findCustomFields(ctx, { object, keys })
  const unknown = keys.find((key) => !fields.has(key))
  if (unknown !== undefined) {
    const message = withSuggestion('unknown custom field', unknown, await readCustomFieldKeys(ctx, object))
    throw invalidField(`customField.${unknown}`, `customField.${unknown}: ${message}`)
  }
  const values = Object.entries(customFields).map(([key, text]) => {
    const result = checkCustomValue(fields, key, parseCustomValue(fields, key, text))
    if ('message' in result) throw invalidField(`customField.${key}`, `customField.${key}: ${result.message}`)
    return [key, result.value]
  })
  return sql`${column} @> ${JSON.stringify(Object.fromEntries(values))}::jsonb`
}
