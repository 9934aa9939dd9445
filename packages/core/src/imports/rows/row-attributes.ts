/** The JSON object of custom values in one cell, as listmonk exports it. */
import { type CustomFields, parseCustomValue } from '../../custom-fields/custom-fields.ts'
import { toPrintable } from '../file/column-names.ts'
import { findCustomField } from '../file/match-columns.ts'
import { isMissing } from './yes-no-words.ts'

interface Attributes {
  /** By the keys of custom fields. Each value is read like a cell. */
  values: Record<string, unknown>
  /** What to do about the first attribute without a custom field. */
  unknown?: string
  warning?: string
}

export function parseAttributes(cell: string, fields: CustomFields): Attributes {
  const attributes = parseObject(cell)
  if (!attributes) return { values: {}, warning: 'must be a JSON object; left out' }
  const known = Object.entries<unknown>(attributes).map(([name, value]) => ({
    name,
    value,
    key: findCustomField(name, fields),
  }))
  const values = known.flatMap(({ key, value }) =>
    key === undefined || value === null || value === '' ? [] : [[key, parseCustomValue(fields, key, toText(value))]],
  )
  const unknown = known.find(({ key }) => key === undefined)
  return {
    values: Object.fromEntries(values) as Attributes['values'],
    ...(unknown && {
      unknown: `no custom field for "${toPrintable(unknown.name)}": create it, or send unknownColumns=ignore`,
    }),
  }
}

/** Programs write no attributes as null, as an empty array or as their word for it, and some write JSON as a JSON string. */
function parseObject(cell: string): Record<string, unknown> | undefined {
  if (isMissing(cell)) return {}
  const once = parseJson(cell)
  const parsed = typeof once === 'string' ? parseJson(once) : once
  if (parsed === null || (Array.isArray(parsed) && parsed.length === 0)) return {}
  return typeof parsed === 'object' && !Array.isArray(parsed) ? { ...parsed } : undefined
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const toText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value))
