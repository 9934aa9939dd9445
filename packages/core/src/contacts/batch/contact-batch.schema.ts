import { z } from 'zod'
import { RecordId } from '../../kernel/ids.ts'
import { Contact, contactExample, ContactInput } from '../contacts.schema.ts'

export const ContactBatch = z
  .strictObject({
    // Each entry is validated by itself, so that an invalid one does not reject the others. OpenAPI shows its schema.
    contacts: z
      .array(z.unknown().meta({ $ref: `#/components/schemas/${ContactInput.meta()?.id}Input` }))
      .min(1)
      .max(100)
      .describe('1 to 100 contacts, in the order of the results.'),
    onConflict: z
      .enum(['fail', 'skip', 'update'])
      .default('fail')
      .describe(
        'What to do if a contact with this external id or email already exists: `fail` reports `already_exists`, `skip` returns the contact unchanged, `update` sets the given fields like `PUT /contacts`.',
      ),
  })
  .meta({
    id: 'ContactBatchRequest',
    description: 'Contacts to create or update.',
    examples: [
      { contacts: [{ email: 'ada@example.com', firstName: 'Ada' }, { email: 'not an address' }], onConflict: 'update' },
    ],
  })
export type ContactBatch = z.output<typeof ContactBatch>

const ContactBatchSuccess = z
  .object({
    status: z
      .enum(['CREATED', 'UPDATED', 'UNCHANGED', 'SKIPPED'])
      .describe('`UNCHANGED` if the contact already had these values; that emits no event.'),
    contact: Contact,
  })
  .meta({ id: 'ContactBatchSuccess', description: 'The entry was written, or skipped because of `onConflict: skip`.' })

const ContactBatchFailure = z
  .object({
    status: z.literal('FAILED').describe('Nothing was written for this entry.'),
    code: z
      .enum(['validation_error', 'already_exists', 'identity_conflict', 'quota_exceeded', 'internal_error'])
      .describe('What is wrong, in the words of `code` in error responses.'),
    message: z.string().describe('What is wrong, in words.'),
    issues: z
      .array(
        z.object({ path: z.string().describe('The field.'), message: z.string().describe('What is wrong with it.') }),
      )
      .optional()
      .describe(
        'The invalid fields of the entry, if `code` is `validation_error`, or `externalId`, if it is what `already_exists` is about.',
      ),
    contactId: RecordId('con').optional().describe('The existing contact, if `code` is `already_exists`.'),
    contactIds: z
      .array(RecordId('con'))
      .optional()
      .describe('The contacts to which the external id and the email belong, if `code` is `identity_conflict`.'),
  })
  .meta({ id: 'ContactBatchFailure', description: 'The entry failed. It does not affect the other entries.' })
export type ContactBatchFailure = z.output<typeof ContactBatchFailure>

export const ContactBatchResults = z
  .object({
    results: z
      .array(z.discriminatedUnion('status', [ContactBatchSuccess, ContactBatchFailure]))
      .describe('One result for each entry, in order.'),
  })
  .meta({
    id: 'ContactBatchResults',
    description: 'The result of each entry of a batch.',
    examples: [
      {
        results: [
          { status: 'CREATED', contact: contactExample },
          {
            status: 'FAILED',
            code: 'validation_error',
            message: 'email: must be an email address such as ada@example.com',
            issues: [{ path: 'email', message: 'must be an email address such as ada@example.com' }],
          },
        ],
      },
    ],
  })
export type ContactBatchResults = z.output<typeof ContactBatchResults>
export type ContactBatchResult = ContactBatchResults['results'][number]
