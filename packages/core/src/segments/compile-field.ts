/**
 * Compiles operators on a field, of a contact or of its company, to a condition, which is null for a field without a value.
 */
import { type SQL, sql } from 'drizzle-orm'
import type { Issue } from '../kernel/errors.ts'
import { withSuggestion } from '../kernel/suggestion.ts'
import { normalizeDomain, normalizeEmail, normalizeText, toAsciiDomains } from '../kernel/validation.ts'
import { canonicalLocale } from '../kernel/values/locale.ts'
import { Phone } from '../kernel/values/phone.ts'
import { type FilterField, operatorsOf } from './filter-fields.ts'
import type { Operator } from './filter.schema.ts'

interface Compilation {
  /** The time that periods such as `30d` end. */
  now: Date
  /** Whether a value must be one that its field can have. Options may be removed after a segment is saved. */
  checksOptions: boolean
  issues: Issue[]
}

/** Adds an issue, and returns a condition that is never true. */
export function reject(to: Pick<Compilation, 'issues'>, path: string, message: string): SQL {
  to.issues.push({ path, message })
  return sql`false`
}

/** The negation of a condition that may be null. */
export const isNotTrue = (condition: SQL) => sql`((${condition}) is not true)`

interface NamedField {
  name: string
  field: FilterField
  path: string
}

/** Several operators must all be true. */
export function compileField(
  to: Compilation,
  { name, field, path }: NamedField,
  operators: Partial<Record<Operator, unknown>>,
): SQL {
  const allowed: readonly Operator[] = operatorsOf[field.type]
  const given = Object.entries(operators).filter(([, value]) => value !== undefined) as [Operator, unknown][]
  const conditions = given.map(([operator, value]) => {
    const at = `${path}.${operator}`
    if (!allowed.includes(operator)) return reject(to, at, `does not fit ${name}: use ${allowed.join(', ')}`)
    const problem = findProblem(field, operator, { value, checksOptions: to.checksOptions })
    return problem === undefined ? operatorsInSql[operator](field, value as never, to.now) : reject(to, at, problem)
  })
  return sql.join(conditions, sql` and `)
}

const valueTypes: Partial<Record<FilterField['type'], readonly [type: string, message: string]>> = {
  number: ['number', 'must be a number'],
  boolean: ['boolean', 'must be true or false'],
}

/** Returns what is wrong with the value of an operator. */
function findProblem(
  field: FilterField,
  operator: Operator,
  { value, checksOptions }: { value: unknown; checksOptions: boolean },
): string | undefined {
  if (operator === 'isSet') return undefined
  const values: unknown[] = Array.isArray(value) ? value : [value]
  const [type, message] = valueTypes[field.type] ?? ['string', 'must be a text']
  if (values.some((one) => typeof one !== type)) return message
  const { options } = field
  const unknown = checksOptions && options ? values.find((one) => !findOption(options, one)) : undefined
  if (typeof unknown === 'string') return withSuggestion(`"${unknown}" is not an option`, unknown, options ?? [])
  if (field.type === 'email' && checksOptions && isEquality(operator) && !values.every(isEmail))
    return 'must be an email address such as ada@example.com'
  if (field.type === 'domain' && checksOptions && isEquality(operator) && !values.every(isDomain))
    return 'must be a domain such as acme.example'
  if (field.type === 'date' && (operator === 'before' || operator === 'after') && !isDate(String(value)))
    return 'must be a date such as 2026-11-21'
  return undefined
}

const isEquality = (operator: Operator) => ['eq', 'ne', 'in'].includes(operator)
const isEmail = (value: unknown) => normalizeEmail(normalizeText(String(value))) !== undefined
const isDomain = (value: unknown) => normalizeDomain(String(value)) !== undefined
const isDate = (text: string) => /^\d{4}-\d\d-\d\d$/.test(text)

type Compile = (field: FilterField, value: never, now: Date) => SQL

/** Null for a text of accents alone: the empty text would be a part of every value. */
const folded = (text: string) => sql`nullif(fold_text(${text}), '')`

/** The meaning of each operator. `value` has the type that `findProblem` requires. */
const operatorsInSql: Record<Operator, Compile> = {
  eq: (field, value: string | number | boolean) => equals(field, value),
  ne: (field, value: string | number | boolean) => isNotTrue(equals(field, value)),
  in: (field, values: string[]) =>
    sql`(${sql.join(
      values.map((value) => equals(field, value)),
      sql` or `,
    )})`,
  lt: (field, value: number) => compare(field, '<', value),
  lte: (field, value: number) => compare(field, '<=', value),
  gt: (field, value: number) => compare(field, '>', value),
  gte: (field, value: number) => compare(field, '>=', value),
  contains: (field, value: string) => hasPart(field, value, (text, part) => sql`strpos(${text}, ${part}) > 0`),
  startsWith: (field, value: string) => hasPart(field, value, (text, part) => sql`starts_with(${text}, ${part})`),
  before: (field, value: string) => sql`${sortable(field)} < ${momentOf(field, new Date(value))}`,
  after: (field, value: string) => sql`${sortable(field)} >= ${momentOf(field, new Date(value))}`,
  within: (field, value: string, now) => isWithin(field, value, now),
  notWithin: (field, value: string, now) => isNotTrue(isWithin(field, value, now)),
  isSet: ({ value }, isSet: boolean) => (isSet ? sql`${value} is not null` : sql`${value} is null`),
}

/** Addresses and domains are stored with international domains in ASCII. */
function hasPart({ type, value: text }: FilterField, part: string, compile: (text: SQL, part: SQL) => SQL): SQL {
  const spellings = type === 'email' || type === 'domain' ? [...new Set([part, toAsciiDomains(part)])] : [part]
  const conditions = spellings.map((spelling) => compile(sql`fold_text(${text})`, folded(spelling)))
  return sql`(${sql.join(conditions, sql` or `)})`
}

/** The option as it is stored. */
const findOption = (options: readonly string[], wanted: unknown) =>
  options.find((option) => typeof wanted === 'string' && normalizeText(option) === normalizeText(wanted))

const normalizations: Partial<Record<FilterField['type'], (text: string) => string | undefined>> = {
  email: normalizeEmail,
  domain: normalizeDomain,
  phone: (text) => Phone.safeParse(text).data,
  locale: canonicalLocale,
}

/** The text as a field of the type stores it. A text that is invalid there equals no value. */
function toStored(type: FilterField['type'], given: string): string {
  if (type === 'key') return given
  const text = normalizeText(given)
  return normalizations[type]?.(text) ?? text
}

/** Custom fields and emails have indexes for equality. */
function equals({ custom, type, value, options = [] }: FilterField, given: string | number | boolean): SQL {
  const wanted = typeof given === 'string' ? (findOption(options, given) ?? toStored(type, given)) : given
  if (custom) return sql`${custom.values} @> ${JSON.stringify({ [custom.key]: wanted })}::jsonb`
  return type === 'email' ? sql`lower(${value} collate "C") = lower(${wanted} collate "C")` : sql`${value} = ${wanted}`
}

/** Compares numbers as JSON: unlike a cast, this cannot fail for a value of another type. */
const compare = ({ custom, value }: FilterField, operator: string, number: number): SQL =>
  custom
    ? sql`(${custom.values} -> ${custom.key}::text) ${sql.raw(operator)} ${JSON.stringify(number)}::jsonb`
    : sql`${value} ${sql.raw(operator)} ${number}`

/** Dates are stored as texts such as 2026-11-21, whose order is that of the dates. */
const sortable = ({ type, value }: FilterField) => (type === 'date' ? sql`${value} collate "C"` : value)

const momentOf = ({ type }: Pick<FilterField, 'type'>, at: Date) =>
  type === 'date' ? sql`${at.toISOString().slice(0, 10)}` : sql`${at.toISOString()}::timestamptz`

function isWithin(field: FilterField, period: string, now: Date): SQL {
  const from = sql`${sortable(field)} >= ${momentOf(field, startOfPeriod(period, now))}`
  // A moment of a contact is never in the future, but a date may be.
  return field.type === 'date' ? sql`${from} and ${sortable(field)} <= ${momentOf(field, now)}` : from
}

const hours = { h: 1, d: 24, w: 7 * 24 }

export function startOfPeriod(period: string, now: Date): Date {
  const unit = period.slice(-1) as keyof typeof hours
  return new Date(now.getTime() - Number(period.slice(0, -1)) * hours[unit] * 3_600_000)
}
