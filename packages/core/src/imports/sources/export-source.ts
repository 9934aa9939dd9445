import type { FileStatus } from '../../db/schema/imports.ts'

/** Columns that exports of other systems have beside the properties that every file can have. */
const sourceColumns = ['listmonk.attributes', 'resend.unsubscribed', 'brevo.subscribed', 'brevo.blocklisted'] as const

/** The property that a column of an export contains; null for one that is left out. */
export type SourceColumn =
  | 'email'
  | 'externalId'
  | 'name'
  | 'firstName'
  | 'lastName'
  | 'phone'
  | 'company'
  | 'tags'
  | 'status'
  | 'confirmedAt'
  | 'unsubscribedAt'
  | 'optInAddress'
  | (typeof sourceColumns)[number]
  | null

/** The file that another system exports, as it writes it. */
export interface ExportSource {
  /**
   * All columns that every export of the system has, by their headers. Of several columns with a moment or an address,
   * the last one that is not empty counts. A custom field with the name of a column that is left out takes its values.
   */
  columns: Readonly<Record<string, SourceColumn>>
  /** The status of all rows of a file that has the column. */
  statusByColumn?: Readonly<Record<string, FileStatus>>
}
