/** The custom field values of one record: how they change, and how large they may be. */
import { invalidField } from '../kernel/errors.ts'
import { exceedsSize } from '../kernel/stored-size.ts'
import type { CustomValues } from './custom-fields.ts'

/** The size of `customFieldValues` of one record, as JSON. */
const maxCustomValueBytes = 16_384
const customValuesTooLarge = 'customFieldValues: a record can have at most 16 KiB of custom field values'

/** Whether the values of one record are too large. */
export function exceedsCustomValueSize(values: CustomValues): boolean {
  return exceedsSize(values, maxCustomValueBytes)
}

/** Throws `validation_error` if the values of one record are too large. */
export function requireCustomValueSize(values: CustomValues): void {
  if (exceedsCustomValueSize(values)) throw invalidField('customFieldValues', customValuesTooLarge)
}

/** PostgreSQL stores the keys in an order of its own. In one order, a record has one representation and one ETag. */
export function sortByKey<Value>(values: Record<string, Value>): Record<string, Value> {
  const keys = Object.keys(values)
  return keys.length < 2 ? values : Object.fromEntries(keys.toSorted().map((key) => [key, values[key] as Value]))
}

/** Applies a change to custom values; null removes a key. */
export function mergeCustomValues(
  values: CustomValues,
  change: Record<string, CustomValues[string] | null>,
): CustomValues {
  const merged = Object.entries({ ...values, ...change }).filter(([, value]) => value !== null)
  return Object.fromEntries(merged) as CustomValues
}

/** Applies a change to custom values, or throws if they are too large then. */
export function changeCustomValues(
  current: CustomValues,
  change: Record<string, CustomValues[string] | null>,
): CustomValues {
  const changed = mergeCustomValues(current, change)
  requireCustomValueSize(changed)
  return changed
}
