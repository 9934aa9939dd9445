/** The shapes of imports in requests and responses. */
import { z } from 'zod'
import { fileStatuses, importKinds } from '../db/schema/imports.ts'
import { findRepeatedKey } from '../kernel/repeated-key.ts'
import { CreatedAt, QueryBoolean } from '../kernel/validation.ts'
import { Timestamp } from '../kernel/values/timestamps.ts'
import { Id, RecordId } from '../kernel/ids.ts'
import { PageQuery, Sort } from '../request/paging.ts'
import { encodings } from './file/file-encoding.ts'
import { sourceNames } from './columns/sources.ts'

const ImportStatus = z.enum(['QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELED'])

const Count = (text: string) => z.number().int().describe(text)
const OnConflict = z.enum(['skip', 'update'], { error: 'must be skip or update' })

export const Import = z
  .object({
    id: RecordId('imp'),
    kind: z
      .enum(importKinds)
      .describe('`CONTACTS` of `POST /contacts/import`, or `SUPPRESSIONS` of `POST /suppressions/import`.'),
    status: ImportStatus.describe(
      '`QUEUED` until it begins, `RUNNING`, also between two turns, `COMPLETED`, `FAILED` if the file cannot be read to its end, or `CANCELED` by `DELETE /imports/{id}`.',
    ),
    format: z.enum(['csv', 'ndjson']).describe('The format of the file.'),
    onConflict: OnConflict.describe(
      'What happens to existing contacts: `skip` leaves them unchanged, `update` sets the values of their row.',
    ),
    listId: RecordId('lst').nullable().describe('The list that the contacts are subscribed to. `null` for none.'),
    dryRun: z.boolean().describe('Whether the rows are only validated and counted.'),
    processed: Count('The number of rows that are processed so far.'),
    created: Count('The number of new contacts or suppressions.'),
    updated: Count('The number of contacts or suppressions that were updated.'),
    skipped: Count(
      'The number of rows that changed no contact or suppression. With `listId`, their contacts are subscribed nevertheless.',
    ),
    failed: Count('The number of invalid rows.'),
    confirmed: Count(
      'The number of rows whose contact is confirmed on the list, also if it was before. 0 without `listId`. Rows of people who opted out, in the file or here, are not counted.',
    ),
    optedOut: Count('The number of rows that opt out of the list `listId`, whether or not they become contacts.'),
    suppressed: Count('The number of rows that suppress their address, whether or not they become contacts.'),
    errors: z
      .array(
        z.object({
          line: Count('The line on which the row begins. The header of a CSV is line 1.'),
          message: z.string().describe('What is wrong with the row.'),
        }),
      )
      .describe(
        'The first 100 errors, and warnings about values that are left out: such rows do not count as `failed`.',
      ),
    errorCounts: z
      .array(
        z.object({
          column: z
            .string()
            .nullable()
            .describe('The property of the contact, such as `email`. `null` if the whole row is wrong.'),
          message: z.string().describe('What is wrong.'),
          count: Count('The number of rows.'),
        }),
      )
      .describe('All errors and warnings, counted by column and message: the first 100 of these.'),
    createdAt: CreatedAt,
    startedAt: Timestamp.nullable().describe('When a worker started the import. `null` while it is queued.'),
    completedAt: Timestamp.nullable().describe('When the import ended or was canceled. `null` before.'),
  })
  .meta({
    id: 'Import',
    description:
      'An import of contacts or suppressions. `processed` always equals `created` + `updated` + `skipped` + `failed`. `errors` contains the first 100 errors, with the line on which the row begins. The header of a CSV is line 1.',
    examples: [
      {
        id: 'imp_01kag7m3v9e8fs2t4w6x8y0z1b',
        kind: 'CONTACTS',
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
        confirmed: 0,
        optedOut: 0,
        suppressed: 0,
        errors: [{ line: 17, message: 'email: must be an email address such as ada@example.com' }],
        errorCounts: [{ column: 'email', message: 'must be an email address such as ada@example.com', count: 1 }],
        createdAt: '2026-11-21T06:35:49.123Z',
        startedAt: '2026-11-21T06:35:49.310Z',
        completedAt: '2026-11-21T06:35:50.008Z',
      },
    ],
  })
export type Import = z.output<typeof Import>

const dryRun = QueryBoolean.default(false)
const encoding = z
  .enum(encodings, { error: `must be ${encodings.join(' or ')}` })
  .optional()
  .describe(
    'The encoding of the file. Default: the `charset` of the content type, or `utf-8`. A spreadsheet that saves a plain "CSV" in Western Europe or America writes `windows-1252`.',
  )
const eachEvent = z.literal('each', { error: 'must be "each"' }).optional()

const columnsMessage = 'must be a JSON object with a property or null for each header: {"Mail":"email","Notes":null}'
const isTarget = (value: unknown) => typeof value === 'string' || value === null
const isColumnMap = (value: unknown): value is Record<string, string | null> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isTarget)
const Columns = z
  .string()
  .max(20_000)
  .transform((text, check) => {
    try {
      const columns: unknown = JSON.parse(text)
      if (isColumnMap(columns) && findRepeatedKey(text, columns) === undefined) return columns
    } catch {
      // No JSON.
    }
    check.addIssue({ code: 'custom', message: columnsMessage })
    return z.NEVER
  })

const unknownColumns = z
  .enum(['error', 'ignore'], { error: 'must be error or ignore' })
  .default('error')
  .describe(
    'Columns that are neither known nor mapped by `columns`: `error` returns 400, `ignore` leaves them out. An import of contacts leaves out no column whose name or values speak of consent, opt-in or opt-out: map it to `status` or to `null`, else 400, or the import fails before it writes a contact.',
  )

export const ImportOptions = z.strictObject({
  onConflict: OnConflict.default('skip').describe(
    'Existing contacts: `skip` leaves them unchanged, `update` sets the values of their row.',
  ),
  listId: Id('lst')
    .optional()
    .describe(
      'Subscribes the contacts of the file to this list as CONFIRMED, except those with another status in any row, and those who have opted out. Rows with the status `UNSUBSCRIBED` opt out of this list.',
    ),
  consent: z
    .literal('confirmed', { error: 'must be "confirmed"' })
    .optional()
    .describe(
      'Confirms that all contacts of the file have consented, except those with another status. Required with `listId`, unless `status` is another than `CONFIRMED`, or the file says what each person wants: then a row that would be confirmed without it is an error.',
    ),
  status: z
    .enum(fileStatuses)
    .optional()
    .describe(
      'The status of all rows, in addition to that of each row: a row is confirmed only if both are `CONFIRMED`. For files without a column `status`, such as `unsubscribed_….csv` of Mailchimp. `NONE`: no subscription. `OPTED_OUT`: no email from any list. `MANUAL`: blocked by the operator.',
    ),
  source: z
    .enum(sourceNames)
    .optional()
    .describe(
      'Reads the CSV file that this system exports, as it is. With `listId`, a file in which no column says who is subscribed needs `status`: files of Mailchimp, and of Brevo without `_SUBSCRIBED` and `_BLOCKLISTED`.',
    ),
  columns: Columns.optional().describe(
    'Maps columns of a CSV file, as a JSON object: header → property, `customField.<key>`, or `null` to leave it out. Takes precedence over `source` and over names.',
  ),
  unknownColumns,
  createCompanies: QueryBoolean.default(false).describe(
    'Whether a row creates the company that `companyExternalId` or `companyDomain` names if none has these keys, with `companyName` as its name. Without it, such a row is an error.',
  ),
  dryRun: dryRun.describe(
    'Validates and counts the rows, but writes no contacts and emits no events. A row that repeats an address of a row 1,000 lines before may be counted as created again.',
  ),
  encoding,
  events: eachEvent.describe(
    'An import emits `import.completed`. `each` also emits `contact.created` for every new contact, `contact.updated` for every row that changes a contact, with `createCompanies` `company.created` and `company.updated` for every company that a row creates or gives a key, and with `listId` `subscription.created` and `subscription.confirmed` like `POST /lists/{id}/subscribers`, and `subscription.unsubscribed` for subscriptions that end.',
  ),
})
export type ImportOptions = z.output<typeof ImportOptions>

export const SuppressionImportOptions = z.strictObject({
  reason: z
    .enum(['COMPLAINED', 'OPTED_OUT', 'BOUNCED', 'MANUAL'])
    .default('MANUAL')
    .describe(
      'The reason of rows without one. An admin can lift `BOUNCED` and `MANUAL`; `OPTED_OUT` and `COMPLAINED` only the person.',
    ),
  columns: Columns.optional().describe(
    'Maps columns of a CSV file, as a JSON object: header → `email`, `reason`, `saidAt`, `listId`, or `null` to leave it out.',
  ),
  unknownColumns,
  dryRun: dryRun.describe('Validates and counts the rows, but suppresses nothing and emits no events.'),
  encoding,
  events: eachEvent.describe(
    'An import emits `import.completed`. `each` also emits `subscription.unsubscribed` for every subscription that ends.',
  ),
})
export type SuppressionImportOptions = z.output<typeof SuppressionImportOptions>

export const ImportQuery = PageQuery.extend({
  status: ImportStatus.optional().describe('Only imports with this status.'),
  sort: Sort(['createdAt']),
})
export type ImportQuery = z.output<typeof ImportQuery>
