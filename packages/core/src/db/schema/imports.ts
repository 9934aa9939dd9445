import { sql } from 'drizzle-orm'
import { bigint, boolean, index, integer, jsonb, text, uuid } from 'drizzle-orm/pg-core'
import { timestamptz, bytea, createdAt, oneOf, id } from './columns.ts'
import { tenantTable } from './tenant-table.ts'

export const importStatuses = ['RECEIVING', 'QUEUED', 'RUNNING', 'COMPLETED', 'FAILED'] as const

/** An import of contacts. What was done of it, and where it stands, change in one transaction with the contacts. */
export const imports = tenantTable(
  'imports',
  {
    id: id('imp').notNull(),
    status: text({ enum: importStatuses }).notNull(),
    format: text({ enum: ['csv', 'ndjson'] }).notNull(),
    /** What a CSV's header says: what separates its cells, and what each column is (see `matchColumns`). */
    layout: jsonb().$type<{ delimiter: string; columns: (string | null)[] }>(),
    onConflict: text({ enum: ['skip', 'update'] }).notNull(),
    /** No foreign key: the record of what was done outlives the list. The subscriptions have theirs. */
    listId: id('lst'),
    dryRun: boolean().notNull(),
    eachEvent: boolean().notNull(),
    processed: integer().notNull().default(0),
    created: integer().notNull().default(0),
    updated: integer().notNull().default(0),
    skipped: integer().notNull().default(0),
    failed: integer().notNull().default(0),
    /** The first hundred rows that failed, with their lines; and why the import failed as a whole. */
    errors: jsonb().$type<{ line: number; message: string }[]>().notNull().default([]),
    /** Bytes of the file, uncompressed. */
    size: bigint({ mode: 'number' }).notNull().default(0),
    /** Where the first row that is not done begins: byte, and line counted from 1. */
    position: bigint({ mode: 'number' }).notNull(),
    line: integer().notNull(),
    workerId: uuid(),
    createdAt: createdAt(),
    /** When the last part of the file came in. */
    receivedAt: createdAt(),
    startedAt: timestamptz(),
    completedAt: timestamptz(),
  },
  {
    key: ['id'],
    extra: (t) => [
      index('imports_created_index').on(t.workspaceId, t.createdAt, t.id),
      index('imports_worker_index').on(t.workerId).where(sql`${t.status} = 'RUNNING'`),
      index('imports_receiving_index').on(t.receivedAt).where(sql`${t.status} = 'RECEIVING'`),
      oneOf('imports_status_check', t.status, importStatuses),
    ],
  },
)

/** The file of an import, in parts, until it is done: the API and the worker need not share a disk. */
export const importParts = tenantTable(
  'import_parts',
  {
    importId: id('imp').notNull(),
    /** Where in the file the part begins, in bytes. */
    position: bigint({ mode: 'number' }).notNull(),
    bytes: bytea().notNull(),
  },
  { key: ['importId', 'position'], ownedBy: { importId: imports } },
)

/** The addresses that a dry run has come across, as hashes: it writes no contact by which it would know them again. */
export const importSeen = tenantTable(
  'import_seen',
  {
    importId: id('imp').notNull(),
    emailHash: bigint({ mode: 'bigint' }).notNull(),
  },
  { key: ['importId', 'emailHash'], ownedBy: { importId: imports } },
)
