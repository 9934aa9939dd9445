/** Matches the columns of a file of contacts to properties. */
import { textProperties, textPropertyNames } from '../../contacts/contact-properties.ts'
import type { CustomFields } from '../../custom-fields/custom-fields.ts'
import type { FileStatus, Layout } from '../../db/schema/imports.ts'
import { AppError, invalidField } from '../../kernel/errors.ts'
import { withSuggestion } from '../../kernel/suggestion.ts'
import { trimInvisible } from '../../kernel/values/text.ts'
import type { ExportSource } from '../sources/export-source.ts'
import { companyProperties } from '../rows/company-values.ts'
import { isStatusColumn } from '../rows/status-columns.ts'
import { type Columns, normalizeName, resolveColumns, requireHeaders, toPrintable } from './column-names.ts'
import { findConsentColumn, isOptOutColumn, speaksOfConsentByName, toStatusColumn } from './consent-columns.ts'
import type { ColumnMatcher } from './import-header.ts'

/** Begins the name of a column of custom field values. */
export const customPrefix = 'customFieldValues.'

/** Properties of a row that name its company, or say what the person wants, beside those of the contact. */
const rowProperties = ['name', ...companyProperties, 'status', 'confirmedAt', 'unsubscribedAt', 'optInAddress'] as const
const contactProperties = ['email', 'externalId', ...textPropertyNames, 'tags', 'source', 'companyId']
const properties = [...contactProperties, ...rowProperties]
/** Properties that an export contains and an import ignores. */
export const readOnlyProperties = ['id', 'createdAt', 'updatedAt', 'lastActivityAt']
/**
 * Columns that may occur several times. Of moments and addresses, the last one that is not empty counts; tags and statuses
 * add up.
 */
const repeatable = (column: string) =>
  ['confirmedAt', 'unsubscribedAt', 'optInAddress', 'tags'].includes(column) || isStatusColumn(column)

/** Properties by their other column names. */
const propertiesByColumnName = new Map([
  ['emailaddress', 'email'],
  ['mail', 'email'],
  ['tag', 'tags'],
  ...textPropertyNames.flatMap((property) =>
    textProperties[property].columnNames.map((name) => [name, property] as const),
  ),
])

export interface ColumnOptions {
  fields: CustomFields
  /** Properties by headers, or null for columns to leave out, as the caller gives them. */
  columns?: Readonly<Record<string, string | null>> | undefined
  source?: ExportSource | undefined
  unknownColumns?: 'error' | 'ignore' | undefined
}

/**
 * Matches column names first as the caller maps them, then as the system that exported the file names them, then in any
 * common spelling to properties, to custom fields by key or label, and to other names of properties.
 */
export function createColumnMatcher(options: ColumnOptions): ColumnMatcher {
  const { fields, source, unknownColumns = 'error' } = options
  const given = readGivenColumns(options)
  const ofSource = bySpelling(source?.columns ?? {})
  const statusOf = bySpelling(source?.statusByColumn ?? {})
  const matchName = (text: string): string | null | undefined => {
    const name = trimInvisible(text)
    if (name === '') return ''
    const byCaller = given.get(normalizeName(name))
    if (byCaller !== undefined) return byCaller
    const known = ofSource.get(normalizeName(name))
    if (known === null) return findCustomColumn(name, fields) ?? null
    return known ?? matchAnyFile(name, fields)
  }
  const isLeftOut = (column: string | null | undefined) =>
    column === undefined || (column === '' && unknownColumns === 'ignore')
  return {
    isKnown: (name) => Boolean(matchName(name)) || matchName(name) === null,
    match(names) {
      requireHeaders(given, names)
      requireUnambiguous(
        names.filter((name) => !ofSource.has(normalizeName(trimInvisible(name)))),
        { fields, given },
      )
      const columns = resolveColumns(names, {
        matchName,
        repeatable,
        ignoresUnknown: unknownColumns === 'ignore',
        listKnown: () => listKnownColumns(fields),
      })
      const ignored = names.flatMap((name, position) =>
        isLeftOut(matchName(name)) ? [{ position, name: toPrintable(name) }] : [],
      )
      requireNoConsent(ignored)
      if (!columns.includes('email') && !columns.includes('externalId'))
        throw new AppError(
          'validation_error',
          `The file has no column email or externalId. ${listKnownColumns(fields)}`,
        )
      return {
        columns,
        ...toRules(names, columns, { statusOf, unknownColumns }),
        ...(ignored.length > 0 && { ignored }),
      }
    },
  }
}

function toRules(
  names: readonly string[],
  columns: Columns,
  { statusOf, unknownColumns }: { statusOf: Map<string, FileStatus>; unknownColumns: string },
) {
  const statuses = names.flatMap((name, index) =>
    columns[index] === null ? [] : (statusOf.get(normalizeName(name)) ?? []),
  )
  return {
    ...(statuses.length > 0 && { statuses: [...new Set(statuses)] }),
    ...(unknownColumns === 'ignore' && { ignoresUnknown: true }),
  }
}

const bySpelling = <Value>(values: Readonly<Record<string, Value>>) =>
  new Map(Object.entries(values).map(([name, value]) => [normalizeName(name), value] as const))

/** Throws `validation_error` for a target that is no property and no custom field. */
function readGivenColumns({ columns = {}, fields }: ColumnOptions): Map<string, string | null> {
  const targets = [...properties, ...[...fields.keys()].map((key) => `customField.${key}`)]
  return new Map(
    Object.entries(columns).map(([name, target]) => {
      const column = target === null ? null : target === 'status' ? toStatusColumn(name) : matchTarget(target, fields)
      if (column === undefined)
        throw invalidField(
          `columns.${name}`,
          withSuggestion('must be a property, a custom field or null', target ?? '', targets),
        )
      return [normalizeName(trimInvisible(name)), column]
    }),
  )
}

function matchTarget(target: string, fields: CustomFields): string | undefined {
  return properties.includes(target) ? target : findCustomColumn(target, fields)
}

/** Throws `validation_error` for a column that says who wants emails: it is never left out as an unknown one. */
function requireNoConsent(ignored: NonNullable<Layout['ignored']>): void {
  const found = ignored.find(({ name }) => speaksOfConsentByName(name))
  if (found) throw consentLeftOut(found.name)
}

/** The name or a value of a column that would be left out speaks of consent. */
export function consentLeftOut(name: string, details?: { line: number }): AppError {
  const shown = toPrintable(name)
  return new AppError(
    'validation_error',
    `The column "${shown}" says who wants emails, so unknownColumns=ignore does not leave it out: send columns={"${shown}":"status"}, or {"${shown}":null} if it is about something else`,
    { issues: [{ path: 'columns', message: `must say what the column "${shown}" is` }], ...(details && { details }) },
  )
}

/** Custom fields with the name of one of these properties are older than the property. */
const newProperties = [...rowProperties, 'locale', 'companyId']

function requireUnambiguous(
  names: readonly string[],
  { fields, given }: { fields: CustomFields; given: ReadonlyMap<string, string | null> },
): void {
  for (const name of names.map(trimInvisible)) {
    const property =
      newProperties.find((one) => normalizeName(one) === normalizeName(name)) ??
      (isOptOutColumn(name) ? 'status' : undefined)
    const key = property && findCustomField(name, fields)
    if (key === undefined || given.has(normalizeName(name))) continue
    throw new AppError(
      'validation_error',
      `The column "${name}" is the property ${property} and a custom field. Name it customField.${key}, or send columns={"${name}":"${property}"}`,
      { issues: [{ path: 'columns', message: `must say what the column "${name}" is` }] },
    )
  }
}

function matchAnyFile(name: string, fields: CustomFields): string | null | undefined {
  const normalized = normalizeName(name)
  const property = properties.find((property) => normalizeName(property) === normalized)
  if (property) return property
  if (readOnlyProperties.some((property) => normalizeName(property) === normalized)) return null
  if (normalized === 'emailsubscribedstatus') return 'emailSubscribedStatus'
  return findCustomColumn(name, fields) ?? propertiesByColumnName.get(normalized) ?? findConsentColumn(name)
}

const prefixed = /^custom[\s_-]*fields?(?:[\s_-]*values?)?\.(.+)$/i

/** Another name of a property does not begin like a custom field, so both can be tried. */
function findCustomColumn(name: string, fields: CustomFields): string | undefined {
  const key = findCustomField(prefixed.exec(name)?.[1] ?? name, fields)
  return key === undefined ? undefined : `${customPrefix}${key}`
}

/** Finds a field by its exact key, else by a similar key, else by a similar label, if only one field matches. */
export function findCustomField(name: string, fields: CustomFields): string | undefined {
  if (fields.has(name)) return name
  const normalized = normalizeName(name)
  const byKey = [...fields.keys()].filter((key) => normalizeName(key) === normalized)
  const byLabel = [...fields].filter(([, field]) => normalizeName(field.label) === normalized).map(([key]) => key)
  const found = byKey.length > 0 ? byKey : byLabel
  return found.length === 1 ? found[0] : undefined
}

function listKnownColumns(fields: CustomFields): string {
  const custom = [...fields.keys()].slice(0, 100).map((key) => `customField.${key}`)
  return `Known columns: ${[...properties, ...custom].join(', ')}. Ignored columns: ${readOnlyProperties.join(', ')}`
}
