import type { FileStatus } from '../../db/schema/imports.ts'
import type { StatusColumn } from '../rows/status-columns.ts'

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
  | 'source'
  | 'confirmedAt'
  | 'unsubscribedAt'
  | 'optInAddress'
  | 'listmonk.attributes'
  | StatusColumn
  | null

/** The file that another system exports, as it writes it. */
export interface ExportSource {
  /**
   * All columns that every export of the system has, by their headers. Of several columns with a moment or an address,
   * the last one that is not empty counts; statuses add up. A custom field with the name of a column that is left out takes its values.
   */
  columns: Readonly<Record<string, SourceColumn>>
  /** The status of all rows of a file that has the column. */
  statusByColumn?: Readonly<Record<string, FileStatus>>
}
