/** The fields of contacts and of their companies that a filter can name: their types, the operators of each type, and their SQL. */
import { type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { qualify } from '../db/statements/qualify.ts'
import { companies, contacts, emailSubscribedStatuses } from '../db/schema/index.ts'
import { suggestNear } from '../kernel/suggestion.ts'
import type { CustomFields } from '../custom-fields/custom-fields.ts'
import type { Operator } from './filter.schema.ts'

const equality = ['eq', 'ne', 'in', 'isSet'] as const

export const operatorsOf = {
  email: [...equality, 'contains', 'startsWith'],
  key: ['eq', 'in', 'isSet'],
  domain: [...equality, 'contains', 'startsWith'],
  phone: [...equality, 'contains', 'startsWith'],
  locale: [...equality, 'contains', 'startsWith'],
  text: [...equality, 'contains', 'startsWith'],
  option: equality,
  number: ['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'isSet'],
  boolean: ['eq', 'ne', 'isSet'],
  moment: ['before', 'after', 'within', 'notWithin', 'isSet'],
  date: ['before', 'after', 'within', 'notWithin', 'isSet'],
} as const satisfies Record<string, readonly Operator[]>

export interface FilterField {
  type: keyof typeof operatorsOf
  /** The value in a statement on `contacts` or `companies`; null if there is none. */
  value: SQL
  /** A custom field: its key, and the column with the values. */
  custom?: { key: string; values: SQL }
  /** The values that `eq`, `ne` and `in` can name. */
  options?: readonly string[]
}

const filled = (column: PgColumn) => sql`nullif(${qualify(column)}, '')`

const contactProperties: Record<string, FilterField> = {
  email: { type: 'email', value: qualify(contacts.email) },
  externalId: { type: 'key', value: qualify(contacts.externalId) },
  firstName: { type: 'text', value: filled(contacts.firstName) },
  lastName: { type: 'text', value: filled(contacts.lastName) },
  phone: { type: 'phone', value: qualify(contacts.phone) },
  company: { type: 'text', value: qualify(contacts.company) },
  source: { type: 'text', value: qualify(contacts.source) },
  locale: { type: 'locale', value: qualify(contacts.locale) },
  emailSubscribedStatus: {
    type: 'option',
    value: qualify(contacts.emailSubscribedStatus),
    options: emailSubscribedStatuses,
  },
  lastActivityAt: { type: 'moment', value: qualify(contacts.lastActivityAt) },
  createdAt: { type: 'moment', value: qualify(contacts.createdAt) },
  updatedAt: { type: 'moment', value: qualify(contacts.updatedAt) },
}

const companyProperties: Record<string, FilterField> = {
  name: { type: 'text', value: qualify(companies.name) },
  domain: { type: 'domain', value: qualify(companies.domain) },
  externalId: { type: 'key', value: qualify(companies.externalId) },
  phone: { type: 'phone', value: qualify(companies.phone) },
  website: { type: 'text', value: qualify(companies.website) },
  createdAt: { type: 'moment', value: qualify(companies.createdAt) },
  updatedAt: { type: 'moment', value: qualify(companies.updatedAt) },
}

const objects = {
  CONTACT: { properties: contactProperties, values: qualify(contacts.customFieldValues) },
  COMPANY: { properties: companyProperties, values: qualify(companies.customFieldValues) },
}
export type FilterObject = keyof typeof objects

const customTypes = { TEXT: 'text', SELECT: 'option', NUMBER: 'number', BOOLEAN: 'boolean', DATE: 'date' } as const

const customPrefix = 'customFieldValues.'

/** The custom fields that a filter names, and all keys of the workspace, for suggestions, if one is unknown. */
export interface NamedCustomFields {
  fields: CustomFields
  keys: readonly string[]
}

/** The key of a custom field that the name stands for. */
export const customKeyOf = (name: string) =>
  name.startsWith(customPrefix) ? name.slice(customPrefix.length) : undefined

/** Returns a field by the name that a filter gives it, or what is wrong with the name. */
export function findField(
  object: FilterObject,
  name: string,
  custom: NamedCustomFields,
): FilterField | { message: string } {
  const { properties, values } = objects[object]
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined
  if (property) return property
  const key = customKeyOf(name)
  const definition = key === undefined ? undefined : custom.fields.get(key)
  if (key === undefined || !definition) {
    const meant = key === undefined ? suggestNear(name, Object.keys(properties)) : nearKey(key, custom.keys)
    return { message: `unknown field "${name}"${meant === undefined ? '' : ` (did you mean "${meant}"?)`}` }
  }
  const type = customTypes[definition.type]
  const value = sql`(${values} ->> ${key}::text)`
  return { type, value, custom: { key, values }, ...(type === 'option' && { options: definition.options }) }
}

/** Compares without the prefix, with which all keys would be near each other. */
function nearKey(key: string, keys: readonly string[]): string | undefined {
  const near = suggestNear(key, keys)
  return near && customPrefix + near
}
