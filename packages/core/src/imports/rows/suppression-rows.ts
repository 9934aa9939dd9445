/** Reads the rows of a file of addresses that get no emails. */
import { z } from 'zod'
import { unescapeFormulas } from '../../contacts/export/escape-formulas.ts'
import type { Reason } from '../../consent/suppression-rows.ts'
import type { FileStatus, Layout } from '../../db/schema/imports.ts'
import { Id, type ListId } from '../../kernel/ids.ts'
import { Email } from '../../kernel/validation.ts'
import { withoutUndefined } from '../../kernel/without-undefined.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import type { NewSuppression } from '../../suppressions/suppress.ts'
import type { FileRow } from '../file/csv-rows.ts'
import { isOptOut, readStatusWord } from './file-status.ts'
import { type RowError, rowError, toRowError } from './row-errors.ts'
import { Moment } from './row-status.ts'
import type { Values } from './row-values.ts'

/** A row whose address can be read; the warnings are about the rest of it. */
export type SuppressionRow =
  | {
      line: number
      suppression: Omit<NewSuppression, 'source' | 'at' | 'listId'> & { saidAt?: Date; listId?: ListId }
      warnings: RowError[]
    }
  | RowError

const columns = ['email', 'reason', 'saidAt', 'listId']
const optionalText = z.string().nullable().optional()

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
    const warn = (column: string | null, message: string) => void warnings.push({ line, column, message })
    const values = layout ? readCells(content as string[], layout, warn) : readObject(content)
    if (!values) return rowError(line, 'Row is not a JSON object')
    const email = z.object({ email: Email }).safeParse(values)
    if (!email.data) return toRowError(line, toIssues(email.error))
    for (const name of Object.keys(values)) if (!columns.includes(name)) warn(name, 'unknown field, left out')
    const reason = readReason(values['reason']) ?? defaultReason
    if (hasText(values['reason']) && !readReason(values['reason']))
      warn('reason', `unknown word, recorded as ${defaultReason}`)
    const saidAt = Moment.safeParse(values['saidAt'] ?? undefined)
    if (!saidAt.success) warn('saidAt', `${toIssues(saidAt.error)[0]?.message}; recorded as now`)
    const listId = Id('lst').safeParse(values['listId'])
    const isOfList = listId.success && reason === 'OPTED_OUT'
    if (hasText(values['listId']) && !isOfList) warn('listId', ofAllLists)
    const suppression = { ...email.data, reason, ...withoutUndefined({ saidAt: saidAt.data }) }
    return { line, suppression: isOfList ? { ...suppression, listId: listId.data } : suppression, warnings }
  }
}

export const ofAllLists = 'not a list of the workspace that the person left; recorded for all lists'

function readCells(
  cells: readonly string[],
  { columns }: Layout,
  warn: (column: null, message: string) => void,
): Values {
  if (cells.slice(columns.length).some(hasText))
    warn(null, `Row has ${cells.length} cells, but the header has ${columns.length}: the others are left out`)
  const named = columns.flatMap((column, index) => (column && hasText(cells[index]) ? [{ column, index }] : []))
  return Object.fromEntries(named.map(({ column, index }) => [column, unescapeFormulas(cells[index] ?? '')]))
}

function readObject(content: unknown): Values | undefined {
  const isObject = typeof content === 'object' && content !== null && !Array.isArray(content)
  return isObject ? { ...content } : undefined
}

const hasText = (value: unknown) => value !== null && value !== undefined && String(value).trim() !== ''

function readReason(value: unknown): Reason | undefined {
  const text = optionalText.safeParse(value).data?.trim()
  return text ? toReason(readStatusWord(text)) : undefined
}

function toReason(status: FileStatus | null | undefined): Reason | undefined {
  if (!status || !isOptOut(status)) return undefined
  return status === 'UNSUBSCRIBED' ? 'OPTED_OUT' : status
}
