import { z } from 'zod'
import { CreatedAt } from '../kernel/validation.ts'
import { RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort } from '../request/paging.ts'

export const Submission = z
  .object({
    id: RecordId('sub'),
    formId: RecordId('frm'),
    contactId: RecordId('con')
      .nullable()
      .describe(
        'The contact that the submission created or updated. `null` if no field maps to `email`, or if it was deleted.',
      ),
    values: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).describe('The values by field id.'),
    consents: z
      .array(
        z.object({
          fieldId: z.string().describe('The id of the field.'),
          wording: z.string().describe('The label of the field at the time of the submission.'),
        }),
      )
      .describe('The consents that the visitor gave.'),
    createdAt: CreatedAt,
  })
  .meta({
    id: 'Submission',
    description: 'A form submission. `consents` contains the exact wording that the visitor agreed to.',
    examples: [
      {
        id: 'sub_01kag7m3v9e8fs2t4w6x8y0z1b',
        formId: 'frm_01kag7m3v9e8fs2t4w6x8y0z1b',
        contactId: 'con_01kag7m3v9e8fs2t4w6x8y0z1b',
        values: { email: 'ada@example.com', consent: true },
        consents: [{ fieldId: 'consent', wording: 'Send me the monthly newsletter' }],
        createdAt: '2026-11-21T06:35:49.123Z',
      },
    ],
  })
export type Submission = z.output<typeof Submission>

export const SubmitInput = z
  .strictObject({ values: z.record(z.string(), z.unknown()).describe('The values by field id.') })
  .meta({
    id: 'PublicSubmitFormRequest',
    description: 'The values of a form.',
    examples: [{ values: { email: 'ada@example.com', message: 'Hello' } }],
  })
export type SubmitInput = z.output<typeof SubmitInput>

export const SubmitResult = z
  .object({ success: z.literal(true).describe('Always `true`.'), submissionId: RecordId('sub') })
  .meta({
    id: 'SubmitResult',
    description: 'The submission was stored.',
    examples: [{ success: true, submissionId: 'sub_01kag7m3v9e8fs2t4w6x8y0z1b' }],
  })
export type SubmitResult = z.output<typeof SubmitResult>

export const SubmissionQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type SubmissionQuery = z.output<typeof SubmissionQuery>
