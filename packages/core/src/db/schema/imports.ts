/**
 * The statuses of an import. A job claims it with its row of `work`, for a turn of some chunks at a time.
 *
 * | import    | from                       | when                                                                |
 * |-----------|----------------------------|---------------------------------------------------------------------|
 * | RECEIVING |                            | the upload began; deleted if it stops for an hour                   |
 * | QUEUED    | RECEIVING                  | the file is complete                                                |
 * | RUNNING   | QUEUED                     | claimed for the first time                                          |
 * | COMPLETED | RUNNING                    | its last chunk is written                                           |
 * | FAILED    | RUNNING                    | the file cannot be imported as a whole, or an internal error        |
 * | CANCELED  | RECEIVING, QUEUED, RUNNING | canceled by a user: no further chunk is written                     |
 */
import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, jsonb, text } from 'drizzle-orm/pg-core'
import { timestamptz, bytea, createdAt, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

const importStatuses = ['RECEIVING', 'QUEUED', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELED'] as const

/** What an import reads: contacts and what they want, or addresses to suppress. */
export const importKinds = ['CONTACTS', 'SUPPRESSIONS'] as const

/** What a file can say about emails to a person: see `imports/words/statuses.ts`. */
export const fileStatuses = [
  'CONFIRMED',
  'PENDING',
  'NONE',
  'UNSUBSCRIBED',
  'OPTED_OUT',
  'MANUAL',
  'BOUNCED',
  'COMPLAINED',
] as const
export type FileStatus = (typeof fileStatuses)[number]

/** How the rows of a CSV file are read. */
export interface Layout {
  delimiter: string
  /**
   * Each column is a property, `customFieldValues.<key>`, null for a column that is left out, or '' for one without a
   * name.
   */
  columns: (string | null)[]
  /** The statuses that the header gives every row. */
  statuses?: FileStatus[]
  /** Whether unknown keys of a cell with JSON are left out. */
  ignoresUnknown?: boolean
  /** The columns that are left out as unknown: their values may not speak of consent. */
  ignored?: { position: number; name: string }[]
}

/** By the position of a column with numbers: the first line with each way to write them, see number-format.ts. */
export type Findings = Record<string, { point?: number; comma?: number; unclear?: number }>

/** An import. Its counters and position are updated in the same transaction as the contacts. */
export const imports = tenantTable(
  'imports',
  {
    id: id('imp').notNull(),
    status: text({ enum: importStatuses }).notNull(),
    format: text({ enum: ['csv', 'ndjson'] }).notNull(),
    kind: text({ enum: importKinds }).notNull().default('CONTACTS'),
    /** The layout of a CSV file, read from its header: see `match-columns.ts`. */
    layout: jsonb().$type<Layout>(),
    /** For contacts, the status of every row; for suppressions, the reason of rows without one. */
    rowStatus: text({ enum: fileStatuses }),
    onConflict: text({ enum: ['skip', 'update'] }).notNull(),
    /** No foreign key: the import outlives the list. The subscriptions have a foreign key. */
    listId: id('lst'),
    /** Whether the caller states that the people of the file have consented. */
    consentConfirmed: boolean().notNull().default(false),
    /** Whether rows create the companies that they name. */
    createsCompanies: boolean().notNull().default(false),
    dryRun: boolean().notNull(),
    eachEvent: boolean().notNull(),
    processed: integer().notNull().default(0),
    created: integer().notNull().default(0),
    updated: integer().notNull().default(0),
    skipped: integer().notNull().default(0),
    failed: integer().notNull().default(0),
    /** Rows of contacts that are confirmed on the list, and rows that the first pass has recorded. */
    confirmed: integer().notNull().default(0),
    optedOut: integer().notNull().default(0),
    suppressed: integer().notNull().default(0),
    /** The first 100 rows that failed, with their line numbers, and the reason if the whole import failed. */
    errors: jsonb().$type<{ line: number; message: string }[]>().notNull().default([]),
    /** How many rows failed for the same reason, for the first 100 reasons. `column` is null for a whole row. */
    errorCounts: jsonb().$type<{ column: string | null; message: string; count: number }[]>().notNull().default([]),
    /** The uncompressed size of the file in bytes. */
    size: bigint({ mode: 'number' }).notNull().default(0),
    /** The byte offset and the line number (from 1) of the first row that is not processed. */
    position: bigint({ mode: 'number' }).notNull(),
    line: integer().notNull(),
    /** The byte offset of the first row that the first pass has not read, and what the pass has found. */
    checkedPosition: bigint({ mode: 'number' }).notNull().default(0),
    checkedLine: integer().notNull().default(1),
    findings: jsonb().$type<Findings>().notNull().default({}),
    createdAt: createdAt(),
    /** When the last part of the file was received. */
    receivedAt: createdAt(),
    startedAt: timestamptz(),
    completedAt: timestamptz(),
  },
  {
    key: ['id'],
    extra: (t) => [
      index('imports_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('imports_receiving_index').on(t.receivedAt).where(sql`${t.status} = 'RECEIVING'`),
      oneOf('imports_status_check', t.status, importStatuses),
      oneOf('imports_kind_check', t.kind, importKinds),
    ],
  },
)

/** The file of an unfinished import, in parts, so that the API and the worker need no shared disk. */
export const importParts = tenantTable(
  'import_parts',
  {
    importId: id('imp').notNull(),
    /** The byte offset of the part in the file. */
    position: bigint({ mode: 'number' }).notNull(),
    bytes: bytea().notNull(),
  },
  { key: ['importId', 'position'], ownedBy: { importId: imports } },
)

/**
 * The addresses and external ids that opt out in the file of an import, as hashes: the second pass confirms none of
 * them. They are deleted when the import has ended.
 */
export const importSeen = tenantTable(
  'import_seen',
  {
    importId: id('imp').notNull(),
    emailHash: bigint({ mode: 'bigint' }).notNull(),
  },
  { key: ['importId', 'emailHash'], ownedBy: { importId: imports } },
)
