/** Finds the companies that the rows of an import name, and creates those that are missing. Known ones keep their values. */
import {
  type CompanyKeys,
  createCompanyIndex,
  keepCompaniesByKeys,
  type KnownCompany,
} from '../../companies/find-company.ts'
import { lockCompanies } from '../../companies/linked-companies.ts'
import { writeCompanies } from '../../companies/write-companies.ts'
import type { LinkedInput } from '../../contacts/merge-contact.ts'
import { AppError, invalidField } from '../../kernel/errors.ts'
import { startOfText } from '../../kernel/values/text.ts'
import { companyQuota, contactQuota } from '../../quotas/record-quota.ts'
import type { Ctx } from '../../request/context.ts'
import type { ImportRecord } from '../import-record.ts'
import type { NamedCompany } from '../rows/contact-values.ts'
import type { ImportRow, ValidRow } from '../rows/person-rows.ts'
import { type RowIssue, rowError } from '../rows/row-values.ts'
import { isOptOut } from '../words/statuses.ts'

type Options = Pick<ImportRecord, 'createsCompanies' | 'eachEvent'>

/**
 * Gives the contact of each row its company, and locks the company. A row whose company does not exist is an error. Only
 * its `companyId` is left out with a warning: the people of an export can be imported into another workspace.
 */
export async function linkCompanies(ctx: Ctx, options: Options, rows: readonly ImportRow[]): Promise<ImportRow[]> {
  const valid = rows.filter((row) => 'contact' in row)
  const ids = valid.flatMap(({ contact }) => contact.companyId ?? [])
  const named = byCompany(valid)
  const found = await findCompanies(ctx, options, named)
  const known = await lockCompanies(ctx, ids)
  const link = (row: ValidRow): ImportRow => {
    const company = row.company && found.get(keyOf(row.company))
    if (company instanceof AppError) {
      const issue = company.issues?.[0] ?? { path: keyPropertyOf(row.company), message: company.message }
      // What a person said about emails counts without their company, too.
      return row.status?.statuses.some(isOptOut) ? withoutCompany(row, issue) : rowError(row.line, issue)
    }
    if (company) return { ...row, contact: withCompany(row.contact, company) }
    const { companyId } = row.contact
    if (!companyId) return row
    const companyName = known.get(companyId)
    return companyName === undefined
      ? withoutCompany(row, { path: 'companyId', message: 'Company not found' })
      : { ...row, contact: { ...row.contact, companyName } }
  }
  return rows.map((row) => ('contact' in row ? link(row) : row))
}

/** One row for each company: the last one that has its name, or else the last one. */
function byCompany(rows: readonly ValidRow[]): Map<string, ValidRow> {
  const named = new Map<string, ValidRow>()
  for (const row of rows) {
    const known = row.company && named.get(keyOf(row.company))
    if (row.company && !(known?.company?.name && !row.company.name)) named.set(keyOf(row.company), row)
  }
  return named
}

const keyOf = ({ externalId, domain }: NamedCompany) => JSON.stringify([externalId, domain])

type Company = Pick<KnownCompany, 'id' | 'name'>
type Found = ReadonlyMap<string, Company | AppError>

/** By the keys of the companies: the company, or why there is none. */
async function findCompanies(ctx: Ctx, options: Options, named: ReadonlyMap<string, ValidRow>): Promise<Found> {
  if (named.size === 0) return new Map()
  const companies = [...named.values()].flatMap(({ company }) => company ?? [])
  // The quotas before companies and contacts, as all writers lock them.
  await contactQuota.read(ctx)
  await companyQuota.read(ctx)
  const index = createCompanyIndex(await keepCompaniesByKeys(ctx, companies))
  const found = new Map<string, Company | AppError>()
  const incomplete = new Map<string, ValidRow>()
  for (const [key, row] of named) {
    try {
      const match = index.match(row.company ?? {}).record
      if (match && (!options.createsCompanies || hasKeys(match, row.company))) found.set(key, match)
      else incomplete.set(key, row)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      found.set(key, error)
    }
  }
  for (const [key, outcome] of await completeCompanies(ctx, options, incomplete)) found.set(key, outcome)
  return found
}

/** Whether the company has all keys of the row. */
const hasKeys = (company: CompanyKeys, { externalId, domain }: CompanyKeys = {}) =>
  Boolean((company.externalId ?? !externalId) && (company.domain ?? !domain))

/** Creates companies, and adds the keys that known ones do not have. */
async function completeCompanies(
  ctx: Ctx,
  { createsCompanies, eachEvent }: Options,
  incomplete: ReadonlyMap<string, ValidRow>,
): Promise<Found> {
  const rows = [...incomplete]
  if (!createsCompanies) return new Map(rows.map(([key, { company }]) => [key, companyMissing(company)]))
  if (rows.length === 0) return new Map()
  const outcomes = await writeCompanies(
    ctx,
    rows.map(([, row]) => toNewCompany(row)),
    { onExisting: 'addKeys', emitsEvents: eachEvent },
  )
  return new Map(
    rows.flatMap(([key], index) => {
      const outcome = outcomes[index]
      return outcome ? [[key, outcome.status === 'REJECTED' ? outcome.error : outcome.company]] : []
    }),
  )
}

const maxName = 200

function toNewCompany({ company, contact }: ValidRow) {
  const { externalId, domain, name } = company ?? {}
  const text = name ?? contact.company ?? domain ?? externalId ?? ''
  return { externalId, domain, name: startOfText(text, maxName).trim() }
}

const keyPropertyOf = (company: NamedCompany | undefined) =>
  company?.externalId === undefined ? 'companyDomain' : 'companyExternalId'

const companyMissing = (company: NamedCompany | undefined) =>
  invalidField(keyPropertyOf(company), 'no company has it: create the company, or send createCompanies=true')

/** In a file, an empty text is none: the contact gets the name of the company. */
const withCompany = ({ company: text, ...contact }: LinkedInput, { id, name }: Company): LinkedInput => ({
  ...contact,
  ...(text && { company: text }),
  companyId: id,
  companyName: name,
})

function withoutCompany(row: ValidRow, { path, message }: RowIssue): ValidRow {
  const { companyId: _, ...contact } = row.contact
  const warning = rowError(row.line, { ...(path !== undefined && { path }), message: `${message}; left out` })
  return { ...row, contact, warnings: [...(row.warnings ?? []), warning] }
}
