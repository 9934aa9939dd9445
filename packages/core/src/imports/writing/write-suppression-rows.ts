/** Suppresses the addresses of a file. */
import { z } from 'zod'
import { Id, type ListId } from '../../kernel/ids.ts'
import { Email } from '../../kernel/validation.ts'
import { withoutUndefined } from '../../kernel/without-undefined.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { findLists } from '../../lists/lists.ts'
import type { Ctx } from '../../request/context.ts'
import type { Reason } from '../../consent/suppression-rows.ts'
import { type NewSuppression, type StoredSuppression, suppress } from '../../suppressions/suppress.ts'
import type { FileRow } from '../file/csv-rows.ts'
import { isOptOut, readStatusWord } from '../rows/file-status.ts'
import type { ClaimedImport } from '../import-claim.ts'
import { type CsvFormat, readCsvRow, readJsonRow, type RowError, toRowError } from '../rows/import-rows.ts'
import { Moment } from '../rows/row-status.ts'
import type { WrittenRows } from './write-chunk.ts'

/** What a row says: its warnings are about the rest of a row whose address is suppressed. */
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
 * Returns a function that reads rows of a CSV (with `format`) or of NDJSON. An address that can be read is suppressed,
 * whatever else its row says: for all lists, from now on, and for the reason of the request.
 */
export function suppressionReader(
  { rowStatus }: Pick<ClaimedImport, 'rowStatus'>,
  format?: CsvFormat,
): (row: FileRow<unknown>) => SuppressionRow {
  const defaultReason = rowStatus && isOptOut(rowStatus) && rowStatus !== 'UNSUBSCRIBED' ? rowStatus : 'MANUAL'
  return (row) => {
    const read = format ? readCsvRow(row as FileRow<string[]>, format) : readJsonRow(row, [])
    if ('message' in read) return read
    const { line } = read
    const { customFieldValues: _, ...given } = read.properties
    const properties = format ? given : { ...read.properties }
    const email = z.object({ email: Email }).safeParse(properties)
    if (!email.data) return toRowError(line, toIssues(email.error))
    const warnings: RowError[] = []
    const warn = (column: string, message: string) => void warnings.push({ line, column, message })
    for (const name of Object.keys(properties)) if (!columns.includes(name)) warn(name, 'unknown field, left out')
    const reason = readReason(properties['reason']) ?? defaultReason
    if (hasText(properties['reason']) && !readReason(properties['reason']))
      warn('reason', `unknown word, recorded as ${defaultReason}`)
    const saidAt = Moment.safeParse(properties['saidAt'] ?? undefined)
    if (!saidAt.success) warn('saidAt', `${toIssues(saidAt.error)[0]?.message}; recorded as now`)
    const listId = Id('lst').safeParse(properties['listId'])
    const isOfList = listId.success && reason === 'OPTED_OUT'
    if (hasText(properties['listId']) && !isOfList) warn('listId', ofAllLists)
    const suppression = { ...email.data, reason, ...withoutUndefined({ saidAt: saidAt.data }) }
    return { line, suppression: isOfList ? { ...suppression, listId: listId.data } : suppression, warnings }
  }
}

const ofAllLists = 'not a list of the workspace that the person left; recorded for all lists'
const hasText = (value: unknown) => value !== null && value !== undefined && value !== ''

function readReason(value: unknown): Reason | undefined {
  const text = optionalText.safeParse(value).data?.trim()
  const status = text ? readStatusWord(text) : undefined
  if (!status || !isOptOut(status)) return undefined
  return status === 'UNSUBSCRIBED' ? 'OPTED_OUT' : status
}

export async function writeSuppressionRows(
  ctx: Ctx,
  claimed: ClaimedImport,
  rows: readonly SuppressionRow[],
): Promise<WrittenRows> {
  const valid = rows.filter((row) => 'suppression' in row)
  const lists = await findLists(
    ctx,
    valid.flatMap(({ suppression: { listId } }) => listId ?? []),
  )
  const isUnknown = ({ suppression: { listId } }: (typeof valid)[number]) => listId !== undefined && !lists.has(listId)
  const added = valid.map((row) => {
    const { saidAt: at, listId, ...said } = row.suppression
    const ofList = listId === undefined || isUnknown(row) ? {} : { listId }
    return { ...said, ...ofList, at, source: 'IMPORT' as const }
  })
  const stored = await suppress(ctx, added, { emitsEvents: claimed.eachEvent })
  const count = (change: StoredSuppression['change']) => stored.filter((one) => one.change === change).length
  return {
    failed: rows.filter((row) => 'message' in row),
    warnings: valid.flatMap((row) => [
      ...row.warnings,
      ...(isUnknown(row) ? [{ line: row.line, column: 'listId', message: ofAllLists }] : []),
    ]),
    counts: {
      created: count('CREATED'),
      updated: count('UPDATED'),
      skipped: count('UNCHANGED'),
      confirmed: 0,
      suppressed: stored.length,
    },
  }
}
