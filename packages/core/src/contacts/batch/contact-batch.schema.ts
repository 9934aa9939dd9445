import { z } from 'zod'
import { RecordId } from '../../kernel/ids.ts'
import { batchFailure, batchResults, batchSuccess } from '../../request/batch-results.ts'
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

const ContactBatchFailure = batchFailure('Contact', {
  codes: ['validation_error', 'already_exists', 'identity_conflict', 'quota_exceeded', 'internal_error'],
  issues:
    'The invalid fields of the entry, if `code` is `validation_error`, or `externalId`, if it is what `already_exists` is about.',
  details: {
    contactId: RecordId('con').optional().describe('The existing contact, if `code` is `already_exists`.'),
    contactIds: z
      .array(RecordId('con'))
      .optional()
      .describe('The contacts to which the external id and the email belong, if `code` is `identity_conflict`.'),
  },
})
export type ContactBatchFailure = z.output<typeof ContactBatchFailure>

export const ContactBatchResults = batchResults('Contact', {
  success: batchSuccess('Contact', { property: 'contact', record: Contact }),
  failure: ContactBatchFailure,
  examples: [
    { status: 'CREATED', contact: contactExample },
    {
      status: 'FAILED',
      code: 'validation_error',
      message: 'email: must be an email address such as ada@example.com',
      issues: [{ path: 'email', message: 'must be an email address such as ada@example.com' }],
    },
  ],
})
export type ContactBatchResults = z.output<typeof ContactBatchResults>
export type ContactBatchResult = ContactBatchResults['results'][number]
