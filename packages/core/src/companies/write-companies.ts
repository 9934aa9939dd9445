/**
 * The way to write companies by their keys, for PUT and batches:
 *
 * 1. Lock the companies that have one of the keys.
 * 2. Decide in memory, by `record-index.ts` as for contacts. Several inputs for one company take effect in order.
 * 3. Update the changed companies and insert the new ones, each in one statement, and emit the events.
 *
 * If a concurrent writer has taken a key, nothing is written and the companies are decided again. It is apart from
 * `write-contacts.ts`, which also moves consent with addresses, finds aliases of merged contacts and merges by policy.
 *
 * Locks are taken in this order: the quota, owners, custom fields, known companies by id, new companies by key.
 */
import { and, eq, sql } from 'drizzle-orm'
import { checkEachCustomValues } from '../custom-fields/check-custom-values.ts'
import { violatedConstraint } from '../db/database-errors.ts'
import { severalRows } from '../db/json-rows.ts'
import { companies } from '../db/schema/index.ts'
import { isAnyOf } from '../db/statements/is-any-of.ts'
import { emitMany, emitUpdates } from '../events/emit.ts'
import { AppError, changedConcurrently, invalidField } from '../kernel/errors.ts'
import { type CompanyId } from '../kernel/ids.ts'
import { companyQuota } from '../quotas/record-quota.ts'
import { quotaExceeded } from '../quotas/require-quota.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { lockMembers, memberNotFound } from '../workspaces/named-members.ts'
import type { Company, CompanyInput } from './companies.schema.ts'
import { companyCreated, companyUpdated } from './company-events.ts'
import { changeCompany, type CheckedCompany, type CompanyRow, newCompany, toCompany } from './company-record.ts'
import { insertOrder } from './create-company.ts'
import {
  type CompanyIndex,
  type CompanyKeys,
  createCompanyIndex,
  lockCompaniesByKeys,
  type MatchedBy,
} from './find-company.ts'
import { withTimeOfUpdate } from './update-company.ts'

/** What became of an input, with the company as it was right after it. */
export type CompanyOutcome =
  | { status: 'CREATED' | 'UNCHANGED'; company: CompanyRow; matchedBy: MatchedBy }
  | { status: 'UPDATED'; before: CompanyRow; company: CompanyRow; matchedBy: MatchedBy }
  | { status: 'REJECTED'; error: AppError }

interface Upserted {
  company: Company
  isNew: boolean
  /** The key that found the company. */
  matchedBy: MatchedBy
}

/**
 * Creates a company, or updates the company with the same external id or domain: sets the given properties and keeps the
 * rest. Concurrent calls create one company. Throws `identity_conflict` if the keys belong to different companies.
 */
export async function upsertCompany(ctx: Ctx, input: CompanyInput): Promise<Upserted> {
  if (!input.externalId && !input.domain)
    throw invalidField('externalId', 'externalId: is required, unless domain is given')
  const [outcome] = await inTransaction(ctx, (ctx) => writeCompanies(ctx, [input], { onExisting: 'update' }))
  if (!outcome) throw new Error('writeCompanies returned no outcome')
  if (outcome.status === 'REJECTED') throw outcome.error
  const { status, company, matchedBy } = outcome
  return { company: toCompany(company), isNew: status === 'CREATED', matchedBy }
}

/** Locks the company that an upsert with these keys would update, after the quota, as the upsert does. */
export async function lockMatchingCompany(ctx: Ctx, input: CompanyInput): Promise<Company | undefined> {
  await companyQuota.read(ctx)
  await lockMembers(ctx, [input.ownerId])
  const { record } = createCompanyIndex(await lockCompaniesByKeys(ctx, [input])).match(input)
  return record && toCompany(record)
}

interface WriteOptions {
  /** `keep` leaves existing companies unchanged, and `addKeys` gives them only a key that they do not have. */
  onExisting: 'update' | 'addKeys' | 'keep'
  /** Whether to emit `company.created` and `company.updated`. Default: true. */
  emitsEvents?: boolean
}

const maxRounds = 3

/**
 * Creates and updates companies by external id and domain in the caller's transaction, and emits the events. Returns an
 * outcome for each input, in order: an input that is rejected does not affect the others. Throws `unavailable` if
 * concurrent requests keep taking the keys.
 */
export async function writeCompanies(
  ctx: Ctx,
  inputs: readonly CompanyInput[],
  options: WriteOptions,
): Promise<CompanyOutcome[]> {
  const quota = await companyQuota.read(ctx)
  const checked = await checkInputs(ctx, inputs)
  for (let round = 1; round <= maxRounds; round++) {
    const index = createCompanyIndex(await lockCompaniesByKeys(ctx, inputs))
    const outcomes = applyInputs(ctx, checked, { index, quota, options })
    if (!(await storeOutcomes(ctx, outcomes))) continue
    companyQuota.add(ctx, quota, outcomes.filter(({ status }) => status === 'CREATED').length)
    if (options.emitsEvents ?? true) await emitOutcomes(ctx, outcomes)
    return outcomes
  }
  throw changedConcurrently()
}

/** Checks owners and custom field values. */
async function checkInputs(ctx: Ctx, inputs: readonly CompanyInput[]): Promise<(CheckedCompany | AppError)[]> {
  const owners = await lockMembers(
    ctx,
    inputs.map(({ ownerId }) => ownerId),
  )
  const values = await checkEachCustomValues(ctx, {
    object: 'COMPANY',
    inputs: inputs.map(({ customFieldValues = {} }) => customFieldValues),
  })
  return inputs.map((input, index) => {
    const customFieldValues = values[index]
    if (customFieldValues instanceof AppError) return customFieldValues
    const { ownerId } = input
    return ownerId && !owners.has(ownerId) ? memberNotFound('ownerId') : { ...input, customFieldValues }
  })
}

interface Scope {
  index: CompanyIndex
  quota: { limit: number; used: number }
  options: WriteOptions
}

/** Applies inputs one after the other, in memory. */
function applyInputs(
  ctx: Ctx,
  inputs: readonly (CheckedCompany | AppError)[],
  { index, quota, options }: Scope,
): CompanyOutcome[] {
  let created = 0
  const apply = (input: CheckedCompany): CompanyOutcome => {
    const { record: current, matchedBy } = index.match(input)
    if (!current) {
      if (input.name === undefined) throw invalidField('name', 'name: is required')
      if (quota.used + created >= quota.limit) throw quotaExceeded('companies', quota.limit)
      const company = newCompany(ctx.workspaceId, { ...input, name: input.name })
      created += 1
      index.put(company)
      return { status: 'CREATED', company, matchedBy }
    }
    if (options.onExisting === 'keep') return { status: 'UNCHANGED', company: current, matchedBy }
    const given =
      options.onExisting === 'addKeys' ? missingKeys(current, input) : { ...input, ...changedKeys(input, matchedBy) }
    const next = withTimeOfUpdate(current, changeCompany(current, given))
    if (next === current) return { status: 'UNCHANGED', company: current, matchedBy }
    index.put(next)
    return { status: 'UPDATED', before: current, company: next, matchedBy }
  }
  return inputs.map((input) => {
    if (input instanceof AppError) return { status: 'REJECTED', error: input }
    try {
      return apply(input)
    } catch (error) {
      if (error instanceof AppError) return { status: 'REJECTED', error }
      throw error
    }
  })
}

/**
 * The keys that the input gives a company. The key that found it stays. As with contacts, an external id is not cleared; a
 * domain is.
 */
function changedKeys({ domain, externalId }: CompanyKeys, matchedBy: MatchedBy): CompanyKeys {
  return matchedBy === 'domain'
    ? { domain: undefined, externalId: externalId ?? undefined }
    : { domain, externalId: undefined }
}

const missingKeys = (current: CompanyRow, { domain, externalId }: CompanyKeys): CompanyKeys => ({
  domain: current.domain ?? domain,
  externalId: current.externalId ?? externalId,
})

/** Writes what changed, all or nothing. Returns false if a concurrent writer has taken a key. */
async function storeOutcomes(ctx: Ctx, outcomes: readonly CompanyOutcome[]): Promise<boolean> {
  const created = new Set<CompanyId>()
  const written = new Map<CompanyId, CompanyRow>()
  const formerDomains = new Set<string>()
  const moved = new Set<CompanyId>()
  for (const outcome of outcomes) {
    if (outcome.status === 'CREATED') created.add(outcome.company.id)
    if (outcome.status === 'CREATED' || outcome.status === 'UPDATED') written.set(outcome.company.id, outcome.company)
    if (
      outcome.status === 'UPDATED' &&
      outcome.before.domain !== null &&
      outcome.before.domain !== outcome.company.domain
    ) {
      formerDomains.add(outcome.before.domain)
      moved.add(outcome.company.id)
    }
  }
  const rows = [...written.values()]
  const isTakenOver = rows.some(({ domain }) => domain !== null && formerDomains.has(domain))
  const store = async (ctx: Ctx) => {
    if (isTakenOver) await freeDomains(ctx, [...moved])
    const changed = rows.filter(({ id }) => !created.has(id))
    await severalCompanies.update(ctx.db, ctx.workspaceId, changed)
    const inserted = await severalCompanies.insert(
      ctx.db,
      rows.filter(({ id }) => created.has(id)),
    )
    if (inserted.size < created.size) throw changedConcurrently()
    return true
  }
  return await inTransaction(ctx, store).catch(isKeyTaken)
}

const severalCompanies = severalRows(companies, { orderBy: insertOrder })

/** Without this, a company could not get the domain of one that gets another in the same statement. */
async function freeDomains(ctx: Ctx, ids: readonly CompanyId[]): Promise<void> {
  await ctx.db
    .update(companies)
    .set({ domain: sql`null` })
    .where(and(eq(companies.workspaceId, ctx.workspaceId), isAnyOf(companies.id, ids)))
}

function isKeyTaken(error: unknown): false {
  const constraint = violatedConstraint(error) ?? ''
  if (['companies_domain_key', 'companies_external_id_key'].includes(constraint)) return false
  if (error instanceof AppError && error.code === 'unavailable') return false
  throw error
}

async function emitOutcomes(ctx: Ctx, outcomes: readonly CompanyOutcome[]): Promise<void> {
  const created = outcomes.flatMap((outcome) => (outcome.status === 'CREATED' ? [toCompany(outcome.company)] : []))
  const updates = outcomes.flatMap((outcome) =>
    outcome.status === 'UPDATED' ? [{ before: toCompany(outcome.before), after: toCompany(outcome.company) }] : [],
  )
  await emitMany(ctx, companyCreated, created)
  await emitUpdates(ctx, companyUpdated, updates)
}
