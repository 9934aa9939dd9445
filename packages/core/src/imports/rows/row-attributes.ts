/** The JSON object of custom values in one cell, as listmonk exports it. */
import { type CustomFields, parseCustomValue } from '../../custom-fields/custom-fields.ts'
import { toPrintable } from '../file/column-names.ts'
import { findCustomField } from '../file/match-columns.ts'

const notAnObject = 'must be a JSON object'

/** Returns values by the keys of custom fields, or a message. Each value is read like a cell. */
export function parseAttributes(
  cell: string,
  { fields, ignoresUnknown }: { fields: CustomFields; ignoresUnknown: boolean },
): Record<string, unknown> | string {
  let attributes: unknown
  try {
    attributes = JSON.parse(cell)
  } catch {
    return notAnObject
  }
  if (typeof attributes !== 'object' || attributes === null || Array.isArray(attributes)) return notAnObject
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries<unknown>({ ...attributes })) {
    const key = findCustomField(name, fields)
    if (key === undefined && !ignoresUnknown)
      return `no custom field for "${toPrintable(name)}": create it, or send unknownColumns=ignore`
    if (key !== undefined && value !== null && value !== '') values[key] = parseCustomValue(fields, key, toText(value))
  }
  return values
}

const toText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
