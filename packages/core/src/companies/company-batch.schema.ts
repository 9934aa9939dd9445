import { z } from 'zod'
import { RecordId } from '../kernel/ids.ts'
import { batchEntries, batchFailure, batchResults, batchSuccess, onConflict } from '../request/batch-results.ts'
import { Company, companyExample, CompanyInput } from './companies.schema.ts'

export const CompanyBatch = z
  .strictObject({
    companies: batchEntries('companies', CompanyInput),
    onConflict: onConflict('company', { many: 'companies', keys: 'external id or domain' }),
  })
  .meta({
    id: 'CompanyBatchRequest',
    description: 'Companies to create or update.',
    examples: [
      {
        companies: [
          { name: 'Analytical Engines', domain: 'engines.example' },
          { name: 'Ada', domain: 'gmail.com' },
        ],
        onConflict: 'update',
      },
    ],
  })
export type CompanyBatch = z.output<typeof CompanyBatch>

const CompanyBatchFailure = batchFailure('Company', {
  codes: ['validation_error', 'already_exists', 'identity_conflict', 'quota_exceeded'],
  issues: 'The invalid fields of the entry, or the key that is taken.',
  details: {
    companyId: RecordId('cpy').optional().describe('The existing company, if `code` is `already_exists`.'),
    companyIds: z
      .array(RecordId('cpy'))
      .optional()
      .describe('The companies to which the external id and the domain belong, if `code` is `identity_conflict`.'),
  },
})
export type CompanyBatchFailure = z.output<typeof CompanyBatchFailure>

export const CompanyBatchResults = batchResults('Company', {
  success: batchSuccess('Company', { property: 'company', record: Company }),
  failure: CompanyBatchFailure,
  examples: [
    { status: 'CREATED', company: companyExample },
    {
      status: 'FAILED',
      code: 'validation_error',
      message: 'domain: must be a domain of one company, not of a public mail host',
      issues: [{ path: 'domain', message: 'must be a domain of one company, not of a public mail host' }],
    },
  ],
})
export type CompanyBatchResults = z.output<typeof CompanyBatchResults>
export type CompanyBatchResult = CompanyBatchResults['results'][number]
