import { z } from 'zod'
import { RecordId } from '../../kernel/ids.ts'
import { batchEntries, batchFailure, batchResults, batchSuccess, onConflict } from '../../request/batch-results.ts'
import { Contact, contactExample, ContactInput } from '../contacts.schema.ts'

export const ContactBatch = z
  .strictObject({
    contacts: batchEntries('contacts', ContactInput),
    onConflict: onConflict('contact', { many: 'contacts', keys: 'external id or email' }),
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
