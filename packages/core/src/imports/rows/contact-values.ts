/** Checks the contact of a row, and the company that it names. A value that is wrong costs the value, not the person, unless it is a key. */
import type { z } from 'zod'
import { CompanyDomain } from '../../companies/company-domain.ts'
import { ContactInput } from '../../contacts/contacts.schema.ts'
import { checkCustomValue, type CustomFields } from '../../custom-fields/custom-fields.ts'
import type { Issue } from '../../kernel/errors.ts'
import { SingleLine } from '../../kernel/validation.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { companyProperties, keyProperties } from '../columns/match-columns.ts'
import { ImportedExternalId } from '../words/keys.ts'
import { isMissing } from '../words/yes-no-words.ts'
import type { Values } from './row-values.ts'

/** What identifies the company of a row, and the name that a new company gets. It has at least one of the keys. */
export interface NamedCompany {
  externalId: string | undefined
  domain: string | undefined
  name: string | undefined
}

interface ReadContact {
  contact: ContactInput
  company?: NamedCompany | undefined
  warnings: Issue[]
}

/** Returns the contact without the values that are wrong, or what is wrong with its keys or the names of its properties. */
export function readContactInput(values: Values, fields: CustomFields): ReadContact | { issue: Issue } {
  const { company, rest, warnings } = splitCompany(values)
  let left = splitName(rest, warnings)
  for (;;) {
    const { data: contact, error } = ContactInput.safeParse(left)
    const issues = error ? toIssues(error) : findWrongValues(contact.customFieldValues ?? {}, fields)
    if (contact && issues.length === 0) return { contact, company, warnings }
    const fatal = issues.find((issue) => isFatal(issue, left))
    if (fatal) return { issue: fatal }
    for (const issue of issues) warnings.push(asLeftOut(issue))
    left = leaveOut(left, issues)
  }
}

const asLeftOut = ({ path, message }: Issue): Issue => ({ path, message: `${message}; left out` })

const isFatal = ({ path, message }: Issue, values: Values) => {
  const [name = ''] = path.split('.')
  return keyProperties.includes(name) || message.startsWith('unknown') || !Object.hasOwn(values, name)
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
  const parts = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.filter((_, index) => !paths.has(`${name}.${index}`))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).filter(([key]) => !paths.has(`${name}.${key}`)))
  }
  const kept = Object.entries(values).filter(([name]) => !paths.has(name))
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

const companySchemas: Record<(typeof companyProperties)[number], z.ZodType<string | null | undefined>> = {
  companyExternalId: ImportedExternalId,
  companyDomain: CompanyDomain,
  companyName: SingleLine(200),
}

/** A name identifies no company: without a key, it is the text `company` of the contact. */
function splitCompany({ companyExternalId, companyDomain, companyName, ...rest }: Values): {
  company?: NamedCompany
  rest: Values
  warnings: Issue[]
} {
  const warnings: Issue[] = []
  const [externalId, domain, name] = [companyExternalId, companyDomain, companyName].map((value, index) => {
    if (value === undefined || value === null || (typeof value === 'string' && isMissing(value))) return undefined
    const path = companyProperties[index] ?? 'companyName'
    const { data, error } = companySchemas[path].safeParse(typeof value === 'string' ? value.trim() : value)
    if (error) warnings.push(...toIssues(error).map(({ message }) => asLeftOut({ path, message })))
    return data || undefined
  })
  if (externalId !== undefined || domain !== undefined) return { company: { externalId, domain, name }, rest, warnings }
  return { rest: name === undefined || rest['company'] ? rest : { ...rest, company: name }, warnings }
}
