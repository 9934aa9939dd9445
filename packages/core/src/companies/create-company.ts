import { sql } from 'drizzle-orm'
import { checkCustomValues } from '../custom-fields/check-custom-values.ts'
import { customFieldsOf } from '../custom-fields/custom-field-references.ts'
import { jsonRows } from '../db/json-rows.ts'
import { companies } from '../db/schema/index.ts'
import { bothReferences, insertWithEvents } from '../events/insert-with-events.ts'
import { companyQuota } from '../quotas/record-quota.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { memberIn, requireMember } from '../workspaces/named-members.ts'
import type { Company, NewCompany } from './companies.schema.ts'
import { companyCreated } from './company-events.ts'
import { type CompanyRow, newCompany, toCompany } from './company-record.ts'
import { alreadyExists } from './find-company.ts'

/**
 * Creates a company and emits `company.created`. Throws `already_exists` with the id of the existing company if the domain
 * or the external id is taken, and `quota_exceeded` if the workspace has the maximum number of companies.
 */
export async function createCompany(ctx: Ctx, input: NewCompany): Promise<Company> {
  const customFieldValues = await checkCustomValues(ctx, 'COMPANY', input.customFieldValues)
  const company = newCompany(ctx.workspaceId, { ...input, customFieldValues })
  const insert = (ctx: Ctx) => insertCompany(ctx, company)
  const inserted = (await companyQuota.isExact(ctx)) ? inTransaction(ctx, insert) : insert(ctx)
  if (await inserted) return toCompany(company)
  await requireMember(ctx, 'ownerId', input.ownerId)
  // Throws if a custom field was removed after the check.
  await checkCustomValues(ctx, 'COMPANY', input.customFieldValues)
  throw await alreadyExists(ctx, company)
}

async function insertCompany(ctx: Ctx, company: CompanyRow): Promise<boolean> {
  const quota = await companyQuota.require(ctx)
  const isInserted = await insertRow(ctx, company)
  if (isInserted) companyQuota.add(ctx, quota, 1)
  return isInserted
}

/** One order for all writers: two statements that insert the same keys rarely deadlock, and are repeated if they do. */
export const insertOrder = sql`domain collate "C", external_id collate "C", id`

const insertRow = insertWithEvents({
  into: jsonRows(companies),
  event: companyCreated,
  toData: toCompany,
  orderBy: insertOrder,
  references: bothReferences(customFieldsOf('COMPANY'), memberIn('ownerId')),
})
