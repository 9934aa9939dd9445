/** Matches the columns of a file of contacts to properties. */
import { textProperties, textPropertyNames } from '../../contacts/contact-properties.ts'
import type { CustomFields } from '../../custom-fields/custom-fields.ts'
import { AppError } from '../../kernel/errors.ts'
import { trimInvisible } from '../../kernel/values/text.ts'
import { normalizeName } from '../words/names.ts'
import { isStatusColumn } from '../words/status-columns.ts'
import { createNameMatcher, type GivenColumns } from './column-names.ts'
import { findConsentColumn, isOptOutColumn, requireNoConsent, toStatusColumn } from './consent-columns.ts'
import type { ColumnMatcher } from './import-header.ts'
import type { ExportSource } from './sources.ts'

/** Begins the name of a column of custom field values. */
export const customPrefix = 'customFieldValues.'
export const keyProperties: readonly string[] = ['email', 'externalId']
export const companyProperties = ['companyExternalId', 'companyDomain', 'companyName'] as const
/** Properties of a row that say what the person wants, or name its company, beside those of the contact. */
const rowProperties = ['name', ...companyProperties, 'status', 'confirmedAt', 'unsubscribedAt', 'optInAddress']
const contactProperties = [...keyProperties, ...textPropertyNames, 'tags', 'source', 'companyId']
const properties = [...contactProperties, ...rowProperties]
/** Properties that an export contains and an import ignores. */
export const readOnlyProperties = ['id', 'createdAt', 'updatedAt', 'lastActivityAt']

/** Of several moments and addresses, the last one that is not empty counts; tags and statuses add up. */
const isRepeatable = (column: string) =>
  ['confirmedAt', 'unsubscribedAt', 'optInAddress', 'tags'].includes(column) || isStatusColumn(column)

const byName = <Value>(values: Iterable<readonly [string, Value]>) =>
  new Map([...values].map(([name, value]) => [normalizeName(name), value]))
const propertiesByName = byName<string | null>([
  ...properties.map((name) => [name, name] as const),
  ...readOnlyProperties.map((name) => [name, null] as const),
  ['emailSubscribedStatus', 'emailSubscribedStatus'],
])
/** A custom field takes precedence over these. */
const otherNames = byName([
  ['emailaddress', 'email'],
  ['mail', 'email'],
  ['tag', 'tags'],
  ...textPropertyNames.flatMap((property) =>
    textProperties[property].columnNames.map((name) => [name, property] as const),
  ),
])

export interface ColumnOptions extends GivenColumns {
  fields: CustomFields
  source?: ExportSource | undefined
}

/**
 * Matches column names first as the caller maps them, then as the system that exported the file names them, then in any
 * common spelling to properties, to custom fields by key or label, and to other names of properties.
 */
export function createColumnMatcher({ fields, source, ...given }: ColumnOptions): ColumnMatcher {
  const ofSource = byName(Object.entries(source?.columns ?? {}))
  const statusOf = byName(Object.entries(source?.statusByColumn ?? {}))
  const customNames = [...fields.keys()].map((key) => `customField.${key}`)
  const known = () =>
    `Known columns: ${[...properties, ...customNames.slice(0, 100)].join(', ')}. Ignored columns: ${readOnlyProperties.join(', ')}`
  const matcher = createNameMatcher({
    ...given,
    targets: { names: [...properties, ...customNames], message: 'must be a property, a custom field or null' },
    toColumn(target, name) {
      if (target === 'status') return toStatusColumn(name)
      return properties.includes(target) ? target : findCustomColumn(target, fields)
    },
    createFinder: () => (name) => {
      const normalized = normalizeName(name)
      const known = ofSource.get(normalized)
      if (known === null) return findCustomColumn(name, fields) ?? null
      if (known !== undefined) return known
      if (propertiesByName.has(normalized)) return propertiesByName.get(normalized)
      return findCustomColumn(name, fields) ?? otherNames.get(normalized) ?? findConsentColumn(name)
    },
    isRepeatable,
    listKnown: known,
  })
  return {
    isKnown: matcher.isKnown,
    match(names) {
      for (const name of names)
        if (!matcher.isGiven(name) && !ofSource.has(normalizeName(name))) requireUnambiguous(name, fields)
      const { columns, ignored } = matcher.resolve(names)
      requireNoConsent(ignored)
      if (!columns.some((column) => column !== null && keyProperties.includes(column)))
        throw new AppError('validation_error', `The file has no column email or externalId. ${known()}`)
      const statuses = names.flatMap((name, at) =>
        columns[at] === null ? [] : (statusOf.get(normalizeName(name)) ?? []),
      )
      return {
        columns,
        ...(statuses.length > 0 && { statuses: [...new Set(statuses)] }),
        ...(given.unknownColumns === 'ignore' && { ignoresUnknown: true }),
        ...(ignored.length > 0 && { ignored }),
      }
    },
  }
}

/** Custom fields with the name of one of these properties are older than the property. */
const newProperties = [...rowProperties, 'locale', 'companyId']

function requireUnambiguous(text: string, fields: CustomFields): void {
  const name = trimInvisible(text)
  const property =
    newProperties.find((one) => normalizeName(one) === normalizeName(name)) ??
    (isOptOutColumn(name) ? 'status' : undefined)
  const key = property && findCustomField(name, fields)
  if (key === undefined) return
  throw new AppError(
    'validation_error',
    `The column "${name}" is the property ${property} and a custom field. Name it customField.${key}, or send columns={"${name}":"${property}"}`,
    { issues: [{ path: 'columns', message: `must say what the column "${name}" is` }] },
  )
}

const prefixed = /^custom[\s_-]*fields?(?:[\s_-]*values?)?\.(.+)$/i

/** Another name of a property does not begin like a custom field, so both can be tried. */
function findCustomColumn(text: string, fields: CustomFields): string | undefined {
  const name = trimInvisible(text)
  const key = findCustomField(prefixed.exec(name)?.[1] ?? name, fields)
  return key === undefined ? undefined : `${customPrefix}${key}`
}

/** Finds a field by its exact key, else by a similar key, else by a similar label, if only one field matches. */
export function findCustomField(name: string, fields: CustomFields): string | undefined {
  if (fields.has(name)) return name
  const { byKey, byLabel } = namesOf(fields)
  const normalized = normalizeName(name)
  return byKey.has(normalized) ? byKey.get(normalized) : byLabel.get(normalized)
}

/** The keys of fields by similar names; undefined for a name of several fields. */
type KeysByName = ReadonlyMap<string, string | undefined>
const namesOfFields = new WeakMap<CustomFields, { byKey: KeysByName; byLabel: KeysByName }>()

/** Of each definition once: a row may have many names. */
function namesOf(fields: CustomFields) {
  const known = namesOfFields.get(fields)
  if (known) return known
  const [byKey, byLabel] = [new Map<string, string | undefined>(), new Map<string, string | undefined>()]
  const add = (keys: Map<string, string | undefined>, name: string, key: string) => {
    const normalized = normalizeName(name)
    keys.set(normalized, keys.has(normalized) ? undefined : key)
  }
  for (const [key, { label }] of fields) {
    add(byKey, key, key)
    add(byLabel, label, key)
  }
  namesOfFields.set(fields, { byKey, byLabel })
  return { byKey, byLabel }
}
