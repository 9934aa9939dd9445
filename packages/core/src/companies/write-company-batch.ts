import { type AppError, invalidFields, limitIssues } from '../kernel/errors.ts'
import { toIssues } from '../kernel/zod-messages.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { parseLenient } from '../request/parse-lenient.ts'
import { Company, CompanyInput } from './companies.schema.ts'
import type {
  CompanyBatch,
  CompanyBatchFailure,
  CompanyBatchResult,
  CompanyBatchResults,
} from './company-batch.schema.ts'
import { toCompany } from './company-record.ts'
import { keyTaken } from './find-company.ts'
import { type CompanyOutcome, writeCompanies } from './write-companies.ts'

/**
 * Creates or updates companies in one transaction, and emits an event for each. An entry that fails does not affect the
 * others; entries with the same key take effect one after the other.
 */
export async function writeCompanyBatch(
  ctx: Ctx,
  { companies, onConflict }: CompanyBatch,
): Promise<CompanyBatchResults> {
  const parsed = companies.map((company) => parseLenient(CompanyInput, company))
  const inputs = parsed.flatMap(({ data }) => data ?? [])
  const onExisting = onConflict === 'update' ? 'update' : 'keep'
  const outcomes = await inTransaction(ctx, (ctx) => writeCompanies(ctx, inputs, { onExisting }))
  let position = 0
  return {
    results: parsed.flatMap(({ error }): CompanyBatchResult[] => {
      if (error) return [failedEntry(invalidFields(limitIssues(toIssues(error, Object.keys(Company.shape)))))]
      const outcome = outcomes[position++]
      return outcome ? [toResult(outcome, onConflict)] : []
    }),
  }
}

function toResult(outcome: CompanyOutcome, onConflict: CompanyBatch['onConflict']): CompanyBatchResult {
  if (outcome.status === 'REJECTED') return failedEntry(outcome.error)
  const { company, matchedBy } = outcome
  const isExisting = outcome.status !== 'CREATED'
  if (isExisting && onConflict === 'fail') return failedEntry(keyTaken(matchedBy, company.id))
  const status = isExisting && onConflict === 'skip' ? 'SKIPPED' : outcome.status
  return { status, company: toCompany(company) }
}

function failedEntry({ code, message, issues, details }: AppError): CompanyBatchFailure {
  const isAboutKeys = code === 'already_exists' || code === 'identity_conflict'
  return {
    status: 'FAILED',
    code: code as CompanyBatchFailure['code'],
    message,
    ...(issues && { issues: issues.slice() }),
    ...(isAboutKeys && details),
  }
}
