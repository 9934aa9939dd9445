import { z } from 'zod'
import { CreatedAt, QueryBoolean, Timestamp } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { encodings } from './file/file-encoding.ts'

const ImportStatus = z.enum(['QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELED'])

export const Import = z
  .object({
    id: RecordId('imp'),
    status: ImportStatus.describe(
      '`QUEUED` until it begins, `RUNNING`, also between two turns, `COMPLETED`, `FAILED` if the file cannot be read to its end, or `CANCELED` by `DELETE /imports/{id}`.',
    ),
    format: z.enum(['csv', 'ndjson']).describe('The format of the file.'),
    onConflict: z
      .enum(['skip', 'update'])
      .describe(
        'What happens to existing contacts: `skip` leaves them unchanged, `update` sets the values of their row.',
      ),
    listId: RecordId('lst').nullable().describe('The list that the contacts are subscribed to. `null` for none.'),
    dryRun: z.boolean().describe('Whether the rows are only validated and counted.'),
    processed: z.number().int().describe('The number of rows that are processed so far.'),
    created: z.number().int().describe('The number of new contacts.'),
    updated: z.number().int().describe('The number of contacts that were updated.'),
    skipped: z
      .number()
      .int()
      .describe(
        'The number of rows that changed no contact. With `listId`, their contacts are subscribed nevertheless.',
      ),
    failed: z.number().int().describe('The number of invalid rows.'),
    errors: z
      .array(
        z.object({
          line: z.number().int().describe('The line on which the row begins. The header of a CSV is line 1.'),
          message: z.string().describe('What is wrong with the row.'),
        }),
      )
      .describe('The first 100 errors.'),
    errorCounts: z
      .array(
        z.object({
          column: z
            .string()
            .nullable()
            .describe('The property of the contact, such as `email`. `null` if the whole row is wrong.'),
          message: z.string().describe('What is wrong.'),
          count: z.number().int().describe('The number of rows that failed for this reason.'),
        }),
      )
      .describe('All errors, counted by column and message: the first 100 of these.'),
    createdAt: CreatedAt,
    startedAt: Timestamp.nullable().describe('When a worker started the import. `null` while it is queued.'),
    completedAt: Timestamp.nullable().describe('When the import ended or was canceled. `null` before.'),
  })
  .meta({
    id: 'Import',
    description:
      'An import of contacts. `processed` always equals `created` + `updated` + `skipped` + `failed`. `errors` contains the first 100 errors, with the line on which the row begins. The header of a CSV is line 1.',
    examples: [
      {
        id: 'imp_01kag7m3v9e8fs2t4w6x8y0z1b',
        status: 'COMPLETED',
        format: 'csv',
        onConflict: 'skip',
        listId: null,
        dryRun: false,
        processed: 1200,
        created: 1180,
        updated: 0,
        skipped: 19,
        failed: 1,
        errors: [{ line: 17, message: 'email: must be an email address such as ada@example.com' }],
        errorCounts: [{ column: 'email', message: 'must be an email address such as ada@example.com', count: 1 }],
        createdAt: '2026-11-21T06:35:49.123Z',
        startedAt: '2026-11-21T06:35:49.310Z',
        completedAt: '2026-11-21T06:35:50.008Z',
      },
    ],
  })
export type Import = z.output<typeof Import>

export const ImportOptions = z
  .strictObject({
    onConflict: z
      .enum(['skip', 'update'], { error: 'must be skip or update' })
      .default('skip')
      .describe('Existing contacts: `skip` leaves them unchanged, `update` sets the values of their row.'),
    listId: Id('lst')
      .optional()
      .describe(
        'Subscribes all contacts of the file to this list as CONFIRMED, except those who have opted out of it.',
      ),
    consent: z
      .literal('confirmed', { error: 'must be "confirmed"' })
      .optional()
      .describe('Confirms that all contacts of the file have consented. Required with `listId`.'),
    dryRun: QueryBoolean.default(false).describe(
      'Validates and counts the rows, but writes no contacts and emits no events. A row that repeats an address of a row 1,000 lines before may be counted as created again.',
    ),
    encoding: z
      .enum(encodings, { error: `must be ${encodings.join(' or ')}` })
      .optional()
      .describe(
        'The encoding of the file. Default: the `charset` of the content type, or `utf-8`. A spreadsheet that saves a plain "CSV" in Western Europe or America writes `windows-1252`.',
      ),
    events: z
      .literal('each', { error: 'must be "each"' })
      .optional()
      .describe(
        'An import emits `import.completed`. `each` also emits `contact.created` for every new contact, `contact.updated` for every row that changes a contact, and with `listId` `subscription.created` and `subscription.confirmed` like `POST /lists/{id}/subscribers`.',
      ),
  })
  .refine((options) => options.listId === undefined || options.consent === 'confirmed', {
    path: ['consent'],
    error: 'must be "confirmed" with listId: all contacts of the file must have consented to emails from this list',
  })
export type ImportOptions = z.output<typeof ImportOptions>

export const ImportQuery = PageQuery.extend({
  status: ImportStatus.optional().describe('Only imports with this status.'),
  sort: Sort(['createdAt']),
})
export type ImportQuery = z.output<typeof ImportQuery>
