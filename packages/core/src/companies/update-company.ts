import { isDeepStrictEqual } from 'node:util'
import { checkCustomValues } from '../custom-fields/check-custom-values.ts'
import { violatedConstraint } from '../db/database-errors.ts'
import { updateStatement } from '../db/json-rows.ts'
import { companies } from '../db/schema/index.ts'
import { emitUpdates } from '../events/emit.ts'
import { notFound } from '../kernel/errors.ts'
import type { CompanyId } from '../kernel/ids.ts'
import { timeOfUpdate } from '../kernel/values/timestamps.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { requireMember } from '../workspaces/named-members.ts'
import type { Company, CompanyChange } from './companies.schema.ts'
import { companyUpdated } from './company-events.ts'
import { changeCompany, type CompanyRow, toCompany } from './company-record.ts'
import { alreadyExists, lockCompany } from './find-company.ts'

/** Updates the given properties: merges `customFieldValues` (null removes a key) and replaces `tags`. */
export function updateCompany(ctx: Ctx, id: CompanyId, change: CompanyChange): Promise<Company> {
  return inTransaction(ctx, async (ctx) => {
    await requireMember(ctx, 'ownerId', change.ownerId)
    const current = await lockCompany(ctx, id)
    if (!current) throw notFound('Company')
    const customFieldValues = await checkCustomValues(ctx, 'COMPANY', change.customFieldValues ?? {})
    const next = withTimeOfUpdate(current, changeCompany(current, { ...change, customFieldValues }))
    if (next === current) return toCompany(current)
    await saveCompany(ctx, next)
    await emitUpdates(ctx, companyUpdated, [{ before: toCompany(current), after: toCompany(next) }])
    return toCompany(next)
  })
}

/** Returns `next` with the time of the update, or `current` itself if nothing changed. */
export function withTimeOfUpdate(current: CompanyRow, next: CompanyRow): CompanyRow {
  return isDeepStrictEqual(current, next) ? current : { ...next, updatedAt: timeOfUpdate(current.updatedAt) }
}

/** Writes a locked company. Throws `already_exists` if a key is taken. */
async function saveCompany(ctx: Ctx, next: CompanyRow): Promise<void> {
  const { domain, externalId } = next
  // In a savepoint, so that the transaction can look up the owner of a taken key.
  await inTransaction(ctx, ({ db }) => updateRow(db, next)).catch(async (error: unknown) => {
    const constraint = violatedConstraint(error)
    if (constraint === 'companies_external_id_key') throw await alreadyExists(ctx, { externalId })
    if (constraint === 'companies_domain_key') throw await alreadyExists(ctx, { domain })
    throw error
  })
}

const updateRow = updateStatement(companies)
