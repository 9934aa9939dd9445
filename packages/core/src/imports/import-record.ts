import type { imports } from '../db/schema/index.ts'
import type { Import } from './imports.schema.ts'

export type ImportRecord = typeof imports.$inferSelect

/** Converts a record to its API shape. */
export function toImport(row: ImportRecord): Import {
  return {
    id: row.id,
    kind: row.kind,
    status: row.status === 'RECEIVING' ? 'QUEUED' : row.status,
    format: row.format,
    onConflict: row.onConflict,
    listId: row.listId,
    dryRun: row.dryRun,
    processed: row.processed,
    created: row.created,
    updated: row.updated,
    skipped: row.skipped,
    failed: row.failed,
    confirmed: row.confirmed,
    optedOut: row.optedOut,
    suppressed: row.suppressed,
    errors: row.errors,
    errorCounts: row.errorCounts,
    createdAt: row.createdAt,
    startedAt: row.startedAt,
    completedAt: row.completedAt,
  }
}
