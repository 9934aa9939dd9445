/** Reads which company a row names. */
import type { z } from 'zod'
import { CompanyDomain } from '../../companies/company-domain.ts'
import type { Issue } from '../../kernel/errors.ts'
import { SingleLine } from '../../kernel/validation.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { ImportedExternalId } from './external-id.ts'
import { isMissing } from './yes-no-words.ts'

/** What identifies the company of a row, and the name that a new company gets. It has at least one of the keys. */
export interface NamedCompany {
  externalId: string | undefined
  domain: string | undefined
  name: string | undefined
}

const schemas = {
  companyExternalId: ImportedExternalId,
  companyDomain: CompanyDomain,
  companyName: SingleLine(200),
} satisfies Record<string, z.ZodType<string | null | undefined>>

export const companyProperties = Object.keys(schemas) as (keyof typeof schemas)[]

/**
 * Takes the company from the values of a row. A value that is wrong is left out. A name identifies no company: without a
 * key, it is the text `company` of the contact.
 */
export function splitCompany(values: Readonly<Record<string, unknown>>): {
  company?: NamedCompany
  rest: Record<string, unknown>
  issues: Issue[]
} {
  const issues: Issue[] = []
  const read = (property: keyof typeof schemas): string | undefined => {
    const value = values[property]
    if (value === undefined || value === null || (typeof value === 'string' && isMissing(value))) return undefined
    const { data, error } = schemas[property].safeParse(typeof value === 'string' ? value.trim() : value)
    if (error) issues.push(...toIssues(error).map(({ message }) => ({ path: property, message })))
    return data || undefined
  }
  const [externalId, domain, name] = companyProperties.map(read)
  const rest = Object.fromEntries(
    Object.entries(values).filter(([property]) => !(companyProperties as string[]).includes(property)),
  )
  if (externalId !== undefined || domain !== undefined) return { company: { externalId, domain, name }, rest, issues }
  return { rest: name === undefined || rest['company'] ? rest : { ...rest, company: name }, issues }
}
