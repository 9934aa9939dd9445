/** The fields of contacts that a filter can name: their types, the operators of each type, and their SQL. */
import { type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { qualify } from '../db/statements/qualify.ts'
import { contacts, emailSubscribedStatuses } from '../db/schema/index.ts'
import { suggestNear } from '../kernel/suggestion.ts'
import type { CustomFields } from '../custom-fields/custom-fields.ts'
import type { Operator } from './filter.schema.ts'

const equality = ['eq', 'ne', 'in', 'isSet'] as const

export const operatorsOf = {
  email: [...equality, 'contains', 'startsWith'],
  key: ['eq', 'in', 'isSet'],
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

const filled = (column: PgColumn) => sql`nullif(${qualify(column)}, '')`

const properties = {
  email: { type: 'email', value: qualify(contacts.email) },
  externalId: { type: 'key', value: qualify(contacts.externalId) },
  firstName: { type: 'text', value: filled(contacts.firstName) },
  lastName: { type: 'text', value: filled(contacts.lastName) },
  phone: { type: 'text', value: qualify(contacts.phone) },
  company: { type: 'text', value: qualify(contacts.company) },
  source: { type: 'text', value: qualify(contacts.source) },
  locale: { type: 'text', value: qualify(contacts.locale) },
  emailSubscribedStatus: {
    type: 'option',
    value: qualify(contacts.emailSubscribedStatus),
    options: emailSubscribedStatuses,
  },
  lastActivityAt: { type: 'moment', value: qualify(contacts.lastActivityAt) },
  createdAt: { type: 'moment', value: qualify(contacts.createdAt) },
  updatedAt: { type: 'moment', value: qualify(contacts.updatedAt) },
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
  const value = sql`(${qualify(contacts.customFieldValues)} ->> ${key}::text)`
  return { type, value, key, ...(type === 'option' && { options: definition.options }) }
}

/** Compares without the prefix, with which all keys would be near each other. */
function nearKey(key: string, keys: readonly string[]): string | undefined {
  const near = suggestNear(key, keys)
  return near && customPrefix + near
}
