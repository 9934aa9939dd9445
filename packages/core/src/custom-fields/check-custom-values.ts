/** Checks the custom field values of contacts against their definitions. */
import { AppError, invalidFields } from '../kernel/errors.ts'
import type { Ctx } from '../request/context.ts'
import { type CustomValue, lockCustomFields, parseCustomValues, readCustomFieldKeys } from './custom-fields.ts'

type Checked = Record<string, CustomValue | null>

/** Only so many inputs get suggestions for unknown custom fields, because each of them costs time. */
const maxSuggested = 5

/**
 * Checks the values of each input against the definitions, which it locks until the transaction ends. Returns the values
 * to store, or a `validation_error` for unknown keys and invalid values. Null, which removes a value, stays null.
 */
export async function checkEachCustomValues(
  ctx: Ctx,
  inputs: readonly Record<string, unknown>[],
): Promise<(Checked | AppError)[]> {
  const keys = [...new Set(inputs.flatMap((values) => Object.keys(values)))]
  const fields = await lockCustomFields(ctx, keys)
  const known = keys.every((key) => fields.has(key)) ? [] : await readCustomFieldKeys(ctx)
  let suggested = 0
  return inputs.map((input) => {
    const { values, issues } = parseCustomValues(fields, input, suggested < maxSuggested ? known : [])
    if (issues.length === 0) return values
    suggested += 1
    return invalidFields(issues)
  })
}

/** Checks the values of one input, or throws. */
export async function checkCustomValues(ctx: Ctx, input: Record<string, unknown>): Promise<Checked> {
  const [checked = {}] = await checkEachCustomValues(ctx, [input])
  if (checked instanceof AppError) throw checked
  return checked
}
