/** The record of an import, from the request and the start of the file. */
import { sql } from 'drizzle-orm'
import { readCustomFields } from '../custom-fields/custom-fields.ts'
import { imports } from '../db/schema/index.ts'
import type { Layout } from '../db/schema/imports.ts'
import { AppError, invalidField } from '../kernel/errors.ts'
import type { ImportId } from '../kernel/ids.ts'
import { checkListId } from '../lists/lists.ts'
import { requireQuota } from '../quotas/require-quota.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { type FileLocation, openWindow } from './file/byte-window.ts'
import { checkIgnoredColumns } from './file/ignored-columns.ts'
import { createNdjsonReader, keyTwice } from './file/ndjson-rows.ts'
import { type ColumnMatcher, findNdjsonStart, readHeader } from './file/import-header.ts'
import { createColumnMatcher } from './file/match-columns.ts'
import { createSuppressionColumnMatcher } from './file/match-suppression-columns.ts'
import type { ImportRecord } from './import-record.ts'
import type { ImportOptions, SuppressionImportOptions } from './imports.schema.ts'
import { countUnfinishedImports } from './unfinished-imports.ts'
import { isOptOut } from './rows/file-status.ts'
import { tellsSubscribers } from './rows/status-columns.ts'
import { sources } from './sources/sources.ts'
import { timestampNow } from '../kernel/validation.ts'

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
  if (header.layout) await checkIgnoredColumns(head, header.layout, header.start)
  else await requireSingleKeys(head, header.start)
  const record: Omit<ImportRecord, 'receivedAt'> = {
    workspaceId: ctx.workspaceId,
    id,
    status: 'RECEIVING',
    format,
    layout: header.layout,
    ...toKind(options),
    dryRun,
    eachEvent: events === 'each',
    processed: 0,
    created: 0,
    updated: 0,
    skipped: 0,
    failed: 0,
    confirmed: 0,
    optedOut: 0,
    suppressed: 0,
    errors: [],
    errorCounts: [],
    size: 0,
    ...header.start,
    checkedPosition: header.start.position,
    checkedLine: header.start.line,
    findings: {},
    createdAt: timestampNow(),
    startedAt: null,
    completedAt: null,
  }
  await inTransaction(ctx, async (ctx) => {
    await requireQuota(ctx, 'imports', { count: () => countUnfinishedImports(ctx), retryAfterSeconds: 30 })
    // `isAbandoned` compares `receivedAt` with the clock of the database.
    await ctx.db.insert(imports).values({ ...record, receivedAt: sql`now()` })
  })
}

type Kind = Pick<ImportRecord, 'kind' | 'onConflict' | 'listId' | 'rowStatus' | 'consentConfirmed' | 'createsCompanies'>

function toKind(options: ReceiveOptions): Kind {
  if (options.kind === 'SUPPRESSIONS') {
    const { reason } = options
    const none = { listId: null, consentConfirmed: false, createsCompanies: false }
    return { kind: 'SUPPRESSIONS', onConflict: 'update', rowStatus: reason, ...none }
  }
  const { onConflict, listId = null, status = null, consent, createCompanies: createsCompanies } = options
  const consentConfirmed = consent === 'confirmed'
  return { kind: 'CONTACTS', onConflict, listId, rowStatus: status, consentConfirmed, createsCompanies }
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

/** Throws `validation_error` for a key that an object at the start of the file has twice: either value could be meant. */
async function requireSingleKeys(head: Buffer, start: FileLocation): Promise<void> {
  const window = openWindow(async (from) => (from < head.length ? head.subarray(from) : undefined), start)
  const readRows = createNdjsonReader()
  for (let rows = await readRows(window, 1_000); rows.length > 0; rows = await readRows(window, 1_000)) {
    const found = rows.find((row) => 'error' in row && row.error.startsWith(keyTwice))
    if (found && 'error' in found)
      throw new AppError('validation_error', `Line ${found.line}: ${found.error}`, { details: { line: found.line } })
  }
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
