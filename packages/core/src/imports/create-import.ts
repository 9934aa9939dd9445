/** The record of an import, from the request and the start of the file. */
import { sql } from 'drizzle-orm'
import { readCustomFields } from '../custom-fields/custom-fields.ts'
import { imports } from '../db/schema/index.ts'
import type { Layout } from '../db/schema/imports.ts'
import { AppError, invalidField } from '../kernel/errors.ts'
import type { ImportId } from '../kernel/ids.ts'
import { checkListId } from '../lists/lists.ts'
import { requireQuota } from '../quotas/require-quota.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { createIgnoredCheck } from './columns/consent-columns.ts'
import { type ColumnMatcher, findNdjsonStart, readHeader } from './columns/import-header.ts'
import { createColumnMatcher } from './columns/match-columns.ts'
import { createSuppressionColumnMatcher } from './columns/match-suppression-columns.ts'
import { sources } from './columns/sources.ts'
import type { FileLocation } from './file/byte-window.ts'
import type { FileRow } from './file/csv-rows.ts'
import { keyTwice } from './file/ndjson-rows.ts'
import { readBufferedRows } from './file/read-rows.ts'
import { countUnfinishedImports } from './import-record.ts'
import type { ImportOptions, SuppressionImportOptions } from './imports.schema.ts'
import { tellsSubscribers } from './words/status-columns.ts'
import { isOptOut } from './words/statuses.ts'

export type ReceiveOptions = { format: 'csv' | 'ndjson' } & (
  | ({ kind?: 'CONTACTS' } & ImportOptions)
  | ({ kind: 'SUPPRESSIONS' } & SuppressionImportOptions)
)

/** Throws `validation_error` if the file cannot be read with these options, and `quota_exceeded`. */
export async function createImport(ctx: Ctx, options: ReceiveOptions & { id: ImportId }, head: Buffer): Promise<void> {
  const { id, format, dryRun, events } = options
  if (format === 'ndjson') requireCsv(options)
  const header =
    format === 'csv'
      ? await readHeader(head, await createMatcher(ctx, options))
      : { layout: null, start: findNdjsonStart(head) }
  if (options.kind !== 'SUPPRESSIONS') {
    requireConsent(options, header.layout)
    requireCompanyKey(options, header.layout)
    if (options.listId) await checkListId(ctx, options.listId)
    requireStatus(options, header.layout)
  }
  await checkHead(head, header)
  const { layout, start } = header
  const location = { ...start, checkedPosition: start.position, checkedLine: start.line }
  const record = { workspaceId: ctx.workspaceId, id, status: 'RECEIVING', format, layout, dryRun } as const
  await inTransaction(ctx, async (ctx) => {
    await requireQuota(ctx, 'imports', { count: () => countUnfinishedImports(ctx), retryAfterSeconds: 30 })
    await ctx.db.insert(imports).values({
      ...record,
      ...toKind(options),
      ...location,
      eachEvent: events === 'each',
      createdAt: timestampNow(),
      // `isAbandoned` compares it with the clock of the database.
      receivedAt: sql`now()`,
    })
  })
}

function toKind(options: ReceiveOptions) {
  if (options.kind === 'SUPPRESSIONS')
    return { kind: options.kind, onConflict: 'update', rowStatus: options.reason } as const
  const { onConflict, listId, status: rowStatus, consent, createCompanies: createsCompanies } = options
  return { onConflict, listId, rowStatus, consentConfirmed: consent === 'confirmed', createsCompanies }
}

interface Header {
  layout: Layout | null
  start: FileLocation
}

/** Checks the rows at the start of a file, when it is received. The first pass checks the others. */
export async function checkHead(head: Buffer, { layout, start }: Header): Promise<void> {
  const check = layout ? createIgnoredCheck(layout) : requireSingleKeys
  if (check) for await (const row of readBufferedRows(head, { layout, start })) check(row)
}

/** A file whose rows say what each person wants needs no consent: without it, a row that confirms is an error. */
function requireConsent({ listId, consent, status }: ImportOptions, layout: Layout | null): void {
  if (!listId || consent || (status !== undefined && status !== 'CONFIRMED')) return
  const isSaidByRows = !layout || layout.statuses?.some(isOptOut) || layout.columns.some(saysWhatPersonWants)
  if (isSaidByRows && status === undefined) return
  throw invalidField(
    'consent',
    'must be "confirmed" with listId: all contacts of the file must have consented to emails from this list. A file with a column status or unsubscribedAt needs it for rows that confirm',
  )
}

/** A name identifies no company: it would be created for each of its people. */
function requireCompanyKey({ createCompanies }: ImportOptions, layout: Layout | null): void {
  if (createCompanies && layout && !layout.columns.some(isCompanyKey))
    throw invalidField(
      'createCompanies',
      'needs a column companyExternalId or companyDomain: a name does not identify a company',
    )
}

const isCompanyKey = (column: string | null) => column === 'companyExternalId' || column === 'companyDomain'

const saysWhatPersonWants = (column: string | null) => tellsSubscribers(column) || column === 'unsubscribedAt'

/** Throws `validation_error` for a key that an object has twice: either value could be meant. */
function requireSingleKeys(row: FileRow<unknown>): void {
  if ('error' in row && row.error.startsWith(keyTwice))
    throw new AppError('validation_error', `Line ${row.line}: ${row.error}`, { details: { line: row.line } })
}

/** The properties of NDJSON have names of their own. */
function requireCsv(options: ReceiveOptions): void {
  const source = options.kind === 'SUPPRESSIONS' ? undefined : options.source
  const { columns, unknownColumns } = options
  const given = Object.entries({ columns, source, unknownColumns: unknownColumns === 'ignore' || undefined })
  const [path] = given.find(([, value]) => value !== undefined) ?? []
  if (path) throw invalidField(path, 'must be absent with NDJSON: it maps the columns of a CSV file')
}

async function createMatcher(ctx: Ctx, options: ReceiveOptions): Promise<ColumnMatcher> {
  if (options.kind === 'SUPPRESSIONS') return createSuppressionColumnMatcher(options)
  const { columns, unknownColumns, source } = options
  const fields = await readCustomFields(ctx, 'CONTACT')
  return createColumnMatcher({ fields, columns, unknownColumns, source: source && sources[source] })
}

/** Throws `validation_error` if an export file with a list has no column that says who is subscribed. */
function requireStatus({ source, listId, status }: ImportOptions, layout: Layout | null): void {
  const hasStatus = status ?? layout?.statuses ?? layout?.columns.some(tellsSubscribers)
  if (source && listId && !hasStatus)
    throw invalidField(
      'status',
      `is required: no column of this ${source} file says who is subscribed. Send status=CONFIRMED if the file contains only subscribers, and the status of their file for all others`,
    )
}
