/** Reads the contact of a row. A value that is wrong costs the value, not the person, unless it is a key. */
import { ContactInput } from '../../contacts/contacts.schema.ts'
import { checkCustomValue, type CustomFields } from '../../custom-fields/custom-fields.ts'
import type { Issue } from '../../kernel/errors.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { type NamedCompany, splitCompany } from './company-values.ts'
import type { Values } from './row-values.ts'

const keys = ['email', 'externalId']

/** Returns the contact, and the company that it names, without the values that are wrong, or what is wrong with its keys or the names of its properties. */
export function readContactInput(
  values: Values,
  fields: CustomFields = new Map(),
): { contact: ContactInput; company?: NamedCompany | undefined; warnings: Issue[] } | { issue: Issue } {
  const { company, rest, issues } = splitCompany(values)
  const warnings = issues.map(asLeftOut)
  let left = splitName(rest, warnings)
  for (;;) {
    const { data: contact, error } = ContactInput.safeParse(left)
    const issues = error ? toIssues(error) : findWrongValues(contact.customFieldValues ?? {}, fields)
    if (contact && issues.length === 0) return { contact, company, warnings }
    const fatal = issues.find((issue) => isFatal(issue, left))
    if (fatal) return { issue: fatal }
    warnings.push(...issues.map(asLeftOut))
    left = leaveOut(left, issues)
  }
}

const asLeftOut = ({ path, message }: Issue): Issue => ({ path, message: `${message}; left out` })

const isFatal = ({ path, message }: Issue, values: Values) => {
  const [name = ''] = path.split('.')
  return keys.includes(name) || message.startsWith('unknown') || !Object.hasOwn(values, name)
}

function findWrongValues(values: Values, fields: CustomFields): Issue[] {
  return Object.entries(values).flatMap(([key, value]) => {
    const result = value === null || !fields.has(key) ? undefined : checkCustomValue(fields, key, value)
    return result && 'message' in result ? [{ path: `customFieldValues.${key}`, message: result.message }] : []
  })
}

/** One tag or one custom value is left out by itself. */
function leaveOut(values: Values, issues: readonly Issue[]): Values {
  const paths = new Set(issues.map(({ path }) => path))
  const isWrong = (path: string) => paths.has(path)
  const parts = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((_, index) => !isWrong(`${name}.${index}`))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).filter(([key]) => !isWrong(`${name}.${key}`)))
  }
  const kept = Object.entries(values).filter(([name]) => !isWrong(name))
  return Object.fromEntries(kept.map(([name, value]) => [name, parts(name, value)]))
}

/** Splits `name` at its first space. First and last names of their own take precedence. */
function splitName({ name, ...properties }: Values, warnings: Issue[]): Values {
  if (name !== undefined && name !== null && typeof name !== 'string')
    warnings.push({ path: 'name', message: 'must be a string; left out' })
  if (typeof name !== 'string') return properties
  const [, firstName = '', lastName] = /^\s*(\S*)(?:\s+(.*))?$/s.exec(name) ?? []
  return { firstName, ...(lastName && { lastName }), ...properties }
}
