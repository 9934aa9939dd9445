import { z } from 'zod'
import { RecordId } from '../kernel/ids.ts'
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

const CompanyBatchSuccess = z
  .object({
    status: z
      .enum(['CREATED', 'UPDATED', 'UNCHANGED', 'SKIPPED'])
      .describe('`UNCHANGED` if the company already had these values; that emits no event.'),
    company: Company,
  })
  .meta({ id: 'CompanyBatchSuccess', description: 'The entry was written, or skipped because of `onConflict: skip`.' })

const CompanyBatchFailure = z
  .object({
    status: z.literal('FAILED').describe('Nothing was written for this entry.'),
    code: z
      .enum(['validation_error', 'already_exists', 'identity_conflict', 'quota_exceeded'])
      .describe('What is wrong, in the words of `code` in error responses.'),
    message: z.string().describe('What is wrong, in words.'),
    issues: z
      .array(
        z.object({ path: z.string().describe('The field.'), message: z.string().describe('What is wrong with it.') }),
      )
      .optional()
      .describe('The invalid fields of the entry, or the key that is taken.'),
    companyId: RecordId('cpy').optional().describe('The existing company, if `code` is `already_exists`.'),
    companyIds: z
      .array(RecordId('cpy'))
      .optional()
      .describe('The companies to which the external id and the domain belong, if `code` is `identity_conflict`.'),
  })
  .meta({ id: 'CompanyBatchFailure', description: 'The entry failed. It does not affect the other entries.' })
export type CompanyBatchFailure = z.output<typeof CompanyBatchFailure>

export const CompanyBatchResults = z
  .object({
    results: z
      .array(z.discriminatedUnion('status', [CompanyBatchSuccess, CompanyBatchFailure]))
      .describe('One result for each entry, in order.'),
  })
  .meta({
    id: 'CompanyBatchResults',
    description: 'The result of each entry of a batch.',
    examples: [
      {
        results: [
          { status: 'CREATED', company: companyExample },
          {
            status: 'FAILED',
            code: 'validation_error',
            message: 'domain: must be a domain of one company, not of a public mail host',
            issues: [{ path: 'domain', message: 'must be a domain of one company, not of a public mail host' }],
          },
        ],
      },
    ],
  })
export type CompanyBatchResults = z.output<typeof CompanyBatchResults>
export type CompanyBatchResult = CompanyBatchResults['results'][number]
