import { bigint, boolean, integer, pgTable, text } from 'drizzle-orm/pg-core'
import { timestamptz } from './columns.ts'

/** The newest complete backups of the installation. They belong to no workspace. */
export const backups = pgTable('backups', {
  /** Without the folder. */
  fileName: text().primaryKey(),
  bytes: bigint({ mode: 'number' }).notNull(),
  durationMs: integer().notNull(),
  isEncrypted: boolean().notNull(),
  /** Whether a test restore of the file had the same tables and rows as the database. */
  isVerified: boolean().notNull(),
  /** The time of the snapshot: the backup contains nothing that was committed later. */
  createdAt: timestamptz().notNull(),
})
