/** The fields of contacts that a filter can name: their types, the operators of each type, and their SQL. */
import { type SQL, sql } from 'drizzle-orm'
import { contacts, emailSubscribedStatuses } from '../db/schema/index.ts'
import { suggestNear } from '../kernel/suggestion.ts'
import type { CustomFields } from '../custom-fields/custom-fields.ts'
import type { Operator } from './filter.schema.ts'

const equality = ['eq', 'ne', 'in', 'isSet'] as const

export const operatorsOf = {
  email: [...equality, 'contains', 'startsWith'],
  text: [...equality, 'contains', 'startsWith'],
  option: equality,
  number: ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'isSet'],
  boolean: ['eq', 'ne', 'isSet'],
  moment: ['before', 'after', 'within', 'notWithin', 'isSet'],
  date: ['before', 'after', 'within', 'notWithin', 'isSet'],
} as const satisfies Record<string, readonly Operator[]>

export interface ContactField {
  type: keyof typeof operatorsOf
  /** The value in a statement on `contacts`; null if there is none. */
  value: SQL
  /** The key of a custom field. */
  key?: string
  /** The values that `eq`, `ne` and `in` can name. */
  options?: readonly string[]
}

/** Qualified by hand: Drizzle omits the table of an interpolated column, which would then belong to a sub-select. */
const column = (name: string) => sql`${contacts}.${sql.identifier(name)}`
const filled = (name: string) => sql`nullif(${column(name)}, '')`

const properties = {
  email: { type: 'email', value: column('email') },
  firstName: { type: 'text', value: filled('first_name') },
  lastName: { type: 'text', value: filled('last_name') },
  phone: { type: 'text', value: column('phone') },
  company: { type: 'text', value: column('company') },
  source: { type: 'text', value: column('source') },
  emailSubscribedStatus: { type: 'option', value: column('email_subscribed_status'), options: emailSubscribedStatuses },
  lastActivityAt: { type: 'moment', value: column('last_activity_at') },
  createdAt: { type: 'moment', value: column('created_at') },
  updatedAt: { type: 'moment', value: column('updated_at') },
} as const satisfies Record<string, ContactField>

const customTypes = { TEXT: 'text', SELECT: 'option', NUMBER: 'number', BOOLEAN: 'boolean', DATE: 'date' } as const

export const customPrefix = 'customFieldValues.'

/** Returns a field by the name that a filter gives it, or what is wrong with the name. */
export function findContactField(
  name: string,
  { customFields, customKeys }: { customFields: CustomFields; customKeys: readonly string[] },
): ContactField | { message: string } {
  if (Object.hasOwn(properties, name)) return properties[name as keyof typeof properties]
  const key = name.startsWith(customPrefix) ? name.slice(customPrefix.length) : undefined
  const definition = key === undefined ? undefined : customFields.get(key)
  if (key === undefined || !definition) {
    const meant = key === undefined ? suggestNear(name, Object.keys(properties)) : nearKey(key, customKeys)
    return { message: `unknown field "${name}"${meant === undefined ? '' : ` (did you mean "${meant}"?)`}` }
  }
  const type = customTypes[definition.type]
  const value = sql`(${column('custom_field_values')} ->> ${key}::text)`
  return { type, value, key, ...(type === 'option' && { options: definition.options }) }
}

/** Compares without the prefix, with which all keys would be near each other. */
function nearKey(key: string, keys: readonly string[]): string | undefined {
  const near = suggestNear(key, keys)
  return near && customPrefix + near
}
