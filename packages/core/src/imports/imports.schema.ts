import { z } from 'zod'
import { Timestamp } from '../kernel/validation.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort } from '../request/paging.ts'

export const Import = z
  .object({
    id: RecordId('imp'),
    status: z.enum(['QUEUED', 'RUNNING', 'COMPLETED', 'FAILED']),
    format: z.enum(['csv', 'ndjson']),
    onConflict: z.enum(['skip', 'update']),
    listId: RecordId('lst').nullable(),
    dryRun: z.boolean(),
    processed: z.number().int(),
    created: z.number().int(),
    updated: z.number().int(),
    skipped: z.number().int(),
    failed: z.number().int(),
    errors: z.array(z.object({ line: z.number().int(), message: z.string() })),
    createdAt: Timestamp,
    startedAt: Timestamp.nullable(),
    completedAt: Timestamp.nullable(),
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
      .describe('Existing contacts: `skip` leaves them unchanged, `update` sets the values of their row'),
    listId: Id('lst')
      .optional()
      .describe('Subscribes all contacts of the file to this list as CONFIRMED, except those who have opted out of it'),
    consent: z
      .literal('confirmed', { error: 'must be "confirmed"' })
      .optional()
      .describe('Confirms that all contacts of the file have consented. Required with `listId`.'),
    dryRun: z
      .enum(['true', 'false'], { error: 'must be true or false' })
      .default('false')
      .transform((value) => value === 'true')
      .describe('Validates and counts the rows, but writes no contacts and emits no events'),
    events: z
      .literal('each', { error: 'must be "each"' })
      .optional()
      .describe('`each` also emits `contact.created` for every new contact, in addition to `import.completed`'),
  })
  .refine((options) => options.listId === undefined || options.consent === 'confirmed', {
    path: ['consent'],
    error: 'must be "confirmed" with listId: all contacts of the file must have consented to emails from this list',
  })
export type ImportOptions = z.output<typeof ImportOptions>

export const ImportQuery = PageQuery.extend({ sort: Sort(['createdAt']) })
export type ImportQuery = z.output<typeof ImportQuery>
