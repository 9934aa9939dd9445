import { z } from 'zod'
import { RecordId } from '../kernel/ids.ts'
import { batchFailure, batchResults, batchSuccess } from '../request/batch-results.ts'
import { Company, companyExample, CompanyInput } from './companies.schema.ts'

export const CompanyBatch = z
  .strictObject({
    // Each entry is validated by itself, so that an invalid one does not reject the others. OpenAPI shows its schema.
    companies: z
      .array(z.unknown().meta({ $ref: `#/components/schemas/${CompanyInput.meta()?.id}Input` }))
      .min(1)
      .max(100)
      .describe('1 to 100 companies, in the order of the results.'),
    onConflict: z
      .enum(['fail', 'skip', 'update'])
      .default('fail')
      .describe(
        'What to do if a company with this external id or domain already exists: `fail` reports `already_exists`, `skip` returns the company unchanged, `update` sets the given fields like `PUT /companies`.',
      ),
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
