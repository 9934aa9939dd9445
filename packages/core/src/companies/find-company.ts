import { and, eq, or } from 'drizzle-orm'
import { companies } from '../db/schema/index.ts'
import { isAnyOf } from '../db/statements/is-any-of.ts'
import { AppError, changedConcurrently, notFound } from '../kernel/errors.ts'
import type { CompanyId } from '../kernel/ids.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { createRecordIndex, type Identity } from '../request/record-index.ts'
import type { Company } from './companies.schema.ts'
import { companyColumns, type CompanyRow, toCompany } from './company-record.ts'

/** What identifies a company. */
export interface CompanyKeys {
  domain?: string | null | undefined
  externalId?: string | null | undefined
}

export type KnownCompany = Pick<CompanyRow, 'id' | 'name' | 'domain' | 'externalId'>

/** The key that found a company. */
export type MatchedBy = 'externalId' | 'domain' | 'none'

const identity: Identity<CompanyKeys, 'domain'> = {
  one: 'company',
  many: 'companies',
  second: 'domain',
  secondOf: ({ domain }) => domain ?? undefined,
}

const known = <Row>(records: readonly Row[]) => ({ records, aliases: new Map<string, CompanyId>() })

/** Known companies by their keys, by the rules of `record-index.ts`. */
export const createCompanyIndex = <Row extends KnownCompany>(rows: readonly Row[]) =>
  createRecordIndex<Row, CompanyKeys, 'domain'>(identity, known(rows))
export type CompanyIndex = ReturnType<typeof createCompanyIndex<CompanyRow>>

/** Reads one company. Throws `not_found`. */
export async function readCompany(ctx: Ctx, id: CompanyId): Promise<Company> {
  const [row] = await ctx.db
    .select(companyColumns)
    .from(companies)
    .where(byId(companies, ctx, id))
  if (!row) throw notFound('Company')
  return toCompany(row)
}

/** Locks a company until the transaction ends. Returns undefined if it does not exist. */
export async function lockCompany(ctx: Ctx, id: CompanyId): Promise<CompanyRow | undefined> {
  const [row] = await ctx.db
    .select(companyColumns)
    .from(companies)
    .where(byId(companies, ctx, id))
    .for('no key update')
  return row
}

/** Locks the companies that have one of the keys, in the order of their ids like all writers. */
export async function lockCompaniesByKeys(ctx: Ctx, keys: readonly CompanyKeys[]): Promise<CompanyRow[]> {
  return selectByKeys(ctx, keys, companyColumns).orderBy(companies.id).for('no key update')
}

/** Like `lockCompaniesByKeys`, only against their deletion, and without what an import of many contacts does not need. */
export async function keepCompaniesByKeys(ctx: Ctx, keys: readonly CompanyKeys[]): Promise<KnownCompany[]> {
  const { id, name, domain, externalId } = companyColumns
  return selectByKeys(ctx, keys, { id, name, domain, externalId }).orderBy(companies.id).for('key share')
}

/** The error for keys that were found taken. If no company has one of them anymore, it was deleted in the meantime. */
export async function alreadyExists(ctx: Ctx, keys: CompanyKeys): Promise<AppError> {
  const owners = await selectByKeys(ctx, [keys], companyColumns)
  const named = owners.find(({ externalId }) => externalId !== null && externalId === keys.externalId)
  const [owner] = owners
  if (named) return keyTaken('externalId', named.id)
  return owner ? keyTaken('domain', owner.id) : changedConcurrently()
}

export function keyTaken(key: MatchedBy, companyId: CompanyId): AppError {
  return new AppError('already_exists', 'Company already exists', {
    details: { companyId },
    ...(key !== 'none' && { issues: [{ path: key, message: 'is taken by another company' }] }),
  })
}

function selectByKeys<Columns extends Partial<typeof companyColumns>>(
  ctx: Ctx,
  keys: readonly CompanyKeys[],
  columns: Columns,
) {
  const domains = keys.flatMap(({ domain }) => domain ?? [])
  const externalIds = keys.flatMap(({ externalId }) => externalId ?? [])
  return ctx.db
    .select(columns)
    .from(companies)
    .where(
      and(
        eq(companies.workspaceId, ctx.workspaceId),
        or(isAnyOf(companies.domain, domains), isAnyOf(companies.externalId, externalIds)),
      ),
    )
}
