/** Checks the custom field values of records against their definitions. */
import type { CustomFieldObject } from '../db/schema/index.ts'
import { AppError, invalidFields, type Issue } from '../kernel/errors.ts'
import { suggestForEach } from '../kernel/suggestion.ts'
import type { Ctx } from '../request/context.ts'
import {
  checkCustomValue,
  type CustomFields,
  type CustomValue,
  lockCustomFields,
  readCustomFieldKeys,
} from './custom-fields.ts'

type Checked = Record<string, CustomValue | null>

interface Given {
  object: CustomFieldObject
  inputs: readonly Record<string, unknown>[]
}

/** Only so many inputs get suggestions for unknown custom fields, because each of them costs time. */
const maxSuggested = 5

/**
 * Checks the values of each input against the definitions, which it locks until the transaction ends. Returns the values
 * to store, or a `validation_error` for unknown keys and invalid values. Null, which removes a value, stays null.
 */
export async function checkEachCustomValues(ctx: Ctx, { object, inputs }: Given): Promise<(Checked | AppError)[]> {
  const keys = [...new Set(inputs.flatMap((values) => Object.keys(values)))]
  const fields = await lockCustomFields(ctx, { object, keys })
  const known = keys.every((key) => fields.has(key)) ? [] : await readCustomFieldKeys(ctx, object)
  let suggested = 0
  return inputs.map((input) => {
    const { values, issues } = parseCustomValues(fields, input, suggested < maxSuggested ? known : [])
    if (issues.length === 0) return values
    suggested += 1
    return invalidFields(issues)
  })
}

/** Checks the values of one record, or throws. */
export async function checkCustomValues(
  ctx: Ctx,
  object: CustomFieldObject,
  input: Record<string, unknown>,
): Promise<Checked> {
  const [checked = {}] = await checkEachCustomValues(ctx, { object, inputs: [input] })
  if (checked instanceof AppError) throw checked
  return checked
}

/** Checks values against their definitions. An unknown key gets the nearest of `suggestions` in its message. */
function parseCustomValues(
  fields: CustomFields,
  input: Record<string, unknown>,
  suggestions: readonly string[],
): { values: Record<string, CustomValue | null>; issues: Issue[] } {
  const given = Object.entries(input)
  const unknown = given.filter(([key, value]) => value !== null && !fields.has(key)).map(([key]) => key)
  const messages = suggestForEach('unknown custom field', unknown, suggestions)
  const issues = unknown.map((key, index) => ({ path: `customFieldValues.${key}`, message: messages[index] ?? '' }))
  const values: Record<string, CustomValue | null> = {}
  for (const [key, value] of given) {
    if (value === null) values[key] = value
    if (value === null || !fields.has(key)) continue
    const result = checkCustomValue(fields, key, value)
    if ('message' in result) issues.push({ path: `customFieldValues.${key}`, message: result.message })
    else values[key] = result.value
  }
  return { values, issues }
}
