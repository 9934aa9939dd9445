/** Reads the rows of a file of addresses that get no emails. */
import { unescapeFormulas } from '../../contacts/export/escape-formulas.ts'
import type { Reason } from '../../consent/suppression-rows.ts'
import type { FileStatus, Layout } from '../../db/schema/imports.ts'
import { Id, type ListId } from '../../kernel/ids.ts'
import type { Timestamp } from '../../kernel/validation.ts'
import type { NewSuppression } from '../../suppressions/suppress.ts'
import type { FileRow } from '../file/csv-rows.ts'
import { matchSuppressionColumn } from '../file/match-suppression-columns.ts'
import { isRefusal } from './refusals.ts'
import { readAddresses } from './row-address.ts'
import { isOptOut } from './file-status.ts'
import { type RowError, rowError, toRowError } from './row-errors.ts'
import { readMoment } from './row-status.ts'
import { isStatusColumn, readStatus, type StatusColumn } from './status-columns.ts'

/** A row whose address can be read; the warnings are about the rest of it. */
export type SuppressionRow =
  | {
      line: number
      /** A cell may have several addresses. */
      emails: string[]
      suppression: Pick<NewSuppression, 'reason'> & { saidAt?: Timestamp; listId?: ListId }
      warnings: RowError[]
    }
  | RowError

/** A value, and the column that it is read as. */
interface Value {
  column: string
  text: string
}
type Warn = (column: string | null, message: string) => void

/**
 * Returns a function that reads rows of a CSV (with `layout`) or of NDJSON. An address that can be read is suppressed,
 * whatever else its row says: for all lists, from now on, and for the reason of the request.
 */
export function suppressionReader({
  layout,
  rowStatus,
}: {
  layout: Layout | null
  rowStatus: FileStatus | null
}): (row: FileRow<unknown>) => SuppressionRow {
  const defaultReason = toReason(rowStatus) ?? 'MANUAL'
  return (row) => {
    if ('error' in row) return rowError(row.line, row.error)
    const { line, content } = row
    const warnings: RowError[] = []
    const warn: Warn = (column, message) => void warnings.push({ line, column, message })
    const values = layout ? readCells(content as string[], layout, warn) : readObject(content, warn)
    if (!values) return rowError(line, 'Row is not a JSON object')
    const valueOf = (name: string) => values.find(({ column }) => column === name)?.text
    const { emails, issue } = readAddresses(valueOf('email') ?? '')
    if (issue && emails.length === 0) return toRowError(line, [issue])
    if (issue) warn('email', `another address of the cell ${issue.message}; left out`)
    const reason = readReason(values) ?? defaultReason
    if (!readReason(values) && values.some(({ column }) => isStatusColumn(column)))
      warn('reason', `unknown word, recorded as ${defaultReason}`)
    const saidAt = valueOf('saidAt')
    const moment = saidAt === undefined ? undefined : readMoment(saidAt)
    if (moment && 'message' in moment) warn('saidAt', `${moment.message}; recorded as now`)
    const listId = Id('lst').safeParse(valueOf('listId'))
    const isOfList = listId.success && reason === 'OPTED_OUT'
    if (valueOf('listId') !== undefined && !isOfList) warn('listId', ofAllLists)
    const suppression = { reason, ...(moment && 'at' in moment && { saidAt: moment.at }) }
    return { line, emails, suppression: isOfList ? { ...suppression, listId: listId.data } : suppression, warnings }
  }
}

export const ofAllLists = 'not a list of the workspace that the person left; recorded for all lists'

function readCells(cells: readonly string[], { columns }: Layout, warn: Warn): Value[] {
  if (cells.slice(columns.length).some((cell) => cell.trim() !== ''))
    warn(null, `Row has ${cells.length} cells, but the header has ${columns.length}: the others are left out`)
  return columns.flatMap((column, index) => toValue(column, unescapeFormulas(cells[index] ?? '')))
}

/** The properties of other systems are known by the names of their columns. */
function readObject(content: unknown, warn: Warn): Value[] | undefined {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return undefined
  return Object.entries(content).flatMap(([name, value]: [string, unknown]) => {
    const column = matchSuppressionColumn(name)
    if (column === undefined) warn(name, 'unknown field, left out')
    return toValue(column, value)
  })
}

function toValue(column: string | null | undefined, value: unknown): Value | [] {
  if (!column || !['string', 'number', 'boolean'].includes(typeof value)) return []
  const text = String(value)
  return text.trim() === '' ? [] : { column, text }
}

/** What only the person can revert comes first. */
const strictest: readonly Reason[] = ['COMPLAINED', 'OPTED_OUT', 'BOUNCED', 'MANUAL']

function readReason(values: readonly Value[]): Reason | undefined {
  const found = values.flatMap(({ column, text }) => (isStatusColumn(column) ? (readWords(column, text) ?? []) : []))
  // Postmark calls it a manual suppression if the recipient has used the link of an email.
  const isByRecipient = values.some(
    ({ column, text }) => column === 'origin' && text.trim().toLowerCase() === 'recipient',
  )
  if (isByRecipient && found.includes('MANUAL')) return 'OPTED_OUT'
  return strictest.find((reason) => found.includes(reason))
}

function readWords(column: StatusColumn, text: string): Reason | undefined {
  const reason = toReason(readStatus(column, text))
  return reason ?? (column === 'status' && isRefusal(text) ? 'BOUNCED' : undefined)
}

function toReason(status: FileStatus | null | undefined): Reason | undefined {
  if (!status || !isOptOut(status)) return undefined
  return status === 'UNSUBSCRIBED' ? 'OPTED_OUT' : status
}
