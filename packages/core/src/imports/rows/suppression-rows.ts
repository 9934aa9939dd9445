/** Reads the rows of a file of addresses that get no emails. */
import type { Reason } from '../../consent/suppression-rows.ts'
import type { FileStatus, Layout } from '../../db/schema/imports.ts'
import { Id, type ListId } from '../../kernel/ids.ts'
import type { Timestamp } from '../../kernel/values/timestamps.ts'
import type { GivenSuppression } from '../../consent/consent-records.ts'
import { createSuppressionFinder } from '../columns/match-suppression-columns.ts'
import type { FileRow } from '../file/csv-rows.ts'
import { readCell } from '../words/cells.ts'
import { readAddresses } from '../words/keys.ts'
import { isRefusal, isStatusColumn, readStatus } from '../words/status-columns.ts'
import { isOptOut } from '../words/statuses.ts'
import { readMoment } from './row-status.ts'
import { type RowError, type RowIssue, rowError } from './row-values.ts'

/** A row whose address can be read; the warnings are about the rest of it. */
export type SuppressionRow =
  | {
      line: number
      /** A cell may have several addresses. */
      emails: string[]
      suppression: Pick<GivenSuppression, 'reason'> & { saidAt?: Timestamp; listId?: ListId }
      warnings: RowError[]
    }
  | RowError

interface Value {
  column: string
  text: string
}
interface Cells {
  values: Value[]
  issues: RowIssue[]
}

/**
 * Reads rows of a CSV (with `layout`) or of NDJSON. An address that can be read is suppressed, whatever else its row says:
 * for all lists, from now on, and for the reason of the request.
 */
export function suppressionReader(file: {
  layout: Layout | null
  rowStatus: FileStatus | null
}): (row: FileRow<unknown>) => SuppressionRow {
  const defaultReason = toReason(file.rowStatus) ?? 'MANUAL'
  return (row) => {
    const { line } = row
    if ('error' in row) return rowError(line, { message: row.error })
    const read = file.layout ? readCells(row.content as string[], file.layout) : readObject(row.content)
    if (!read) return rowError(line, { message: 'Row is not a JSON object' })
    const { values, issues } = read
    const valueOf = (name: string) => values.find(({ column }) => column === name)?.text
    const { emails, issue } = readAddresses(valueOf('email') ?? '')
    if (issue && emails.length === 0) return rowError(line, issue)
    if (issue) issues.push({ path: 'email', message: `another address of the cell ${issue.message}; left out` })
    const said = readReason(values)
    const reason = said ?? defaultReason
    if (!said && values.some(({ column }) => isStatusColumn(column)))
      issues.push({ path: 'reason', message: `unknown word, recorded as ${defaultReason}` })
    const [saidAt, givenList] = [valueOf('saidAt'), valueOf('listId')]
    const moment = saidAt === undefined ? undefined : readMoment(saidAt)
    if (moment && 'message' in moment) issues.push({ path: 'saidAt', message: `${moment.message}; recorded as now` })
    const list = Id('lst').safeParse(givenList)
    const isOfList = list.success && reason === 'OPTED_OUT'
    if (givenList !== undefined && !isOfList) issues.push({ path: 'listId', message: ofAllLists })
    return {
      line,
      emails,
      suppression: {
        reason,
        ...(moment && 'at' in moment && { saidAt: moment.at }),
        ...(isOfList && { listId: list.data }),
      },
      warnings: issues.map((one) => rowError(line, one)),
    }
  }
}

export const ofAllLists = 'not a list of the workspace that the person left; recorded for all lists'

function readCells(cells: readonly string[], { columns }: Layout): Cells {
  const hasMore = cells.slice(columns.length).some((cell) => cell.trim() !== '')
  const message = `Row has ${cells.length} cells, but the header has ${columns.length}: the others are left out`
  const values = columns.flatMap((column, index) => toValue(column, readCell(cells[index] ?? '')))
  return { values, issues: hasMore ? [{ message }] : [] }
}

/** The properties of other systems are known by the names of their columns. */
function readObject(content: unknown): Cells | undefined {
  if (typeof content !== 'object' || content === null || Array.isArray(content)) return undefined
  const names = Object.keys(content)
  const find = createSuppressionFinder(names)
  const columns = new Map(names.map((name) => [name, find(name)]))
  const unknown = names.filter((name) => columns.get(name) === undefined)
  return {
    values: Object.entries(content).flatMap(([name, value]) => toValue(columns.get(name), value)),
    issues: unknown.map((path) => ({ path, message: 'unknown field, left out' })),
  }
}

function toValue(column: string | null | undefined, value: unknown): Value | [] {
  if (!column || !['string', 'number', 'boolean'].includes(typeof value)) return []
  const text = String(value)
  return text.trim() === '' ? [] : { column, text }
}

/** What only the person can revert comes first. */
const strictest: readonly Reason[] = ['COMPLAINED', 'OPTED_OUT', 'BOUNCED', 'MANUAL']

function readReason(values: readonly Value[]): Reason | undefined {
  const found = values.flatMap(({ column, text }) => {
    const reason = isStatusColumn(column) ? toReason(readStatus(column, text)) : undefined
    return reason ?? (column === 'status' && isRefusal(text) ? 'BOUNCED' : [])
  })
  // Postmark calls it a manual suppression if the recipient has used the link of an email.
  const isByRecipient = values.some(
    ({ column, text }) => column === 'origin' && text.trim().toLowerCase() === 'recipient',
  )
  if (isByRecipient && found.includes('MANUAL')) return 'OPTED_OUT'
  return strictest.find((reason) => found.includes(reason))
}

function toReason(status: FileStatus | null | undefined): Reason | undefined {
  if (!status || !isOptOut(status)) return undefined
  return status === 'UNSUBSCRIBED' ? 'OPTED_OUT' : status
}
