/** Suppresses the addresses of a file. */
import { z } from 'zod'
import { Email } from '../../kernel/validation.ts'
import { toIssues } from '../../kernel/zod-messages.ts'
import { type Ctx, inTransaction } from '../../request/context.ts'
import type { Reason } from '../../consent/suppression-rows.ts'
import { type NewSuppression, type StoredSuppression, suppress } from '../../suppressions/suppress.ts'
import type { FileRow } from '../file/csv-rows.ts'
import { isOptOut, readStatusWord } from '../rows/file-status.ts'
import type { ClaimedImport } from '../import-claim.ts'
import { type CsvFormat, readCsvRow, readJsonRow, type RowError, toRowError } from '../rows/import-rows.ts'
import { Moment } from '../rows/row-status.ts'
import type { WrittenRows } from './write-chunk.ts'

export type SuppressionRow =
  | { line: number; suppression: Omit<NewSuppression, 'source' | 'at'> & { createdAt?: Date | undefined } }
  | RowError

const unknownReason =
  'must be COMPLAINED, OPTED_OUT, BOUNCED or MANUAL, or a word of another system such as "unsubscribed", "cleaned" or "spam"'

function Row(defaultReason: Reason) {
  return z.strictObject({
    email: Email,
    reason: z
      .string()
      .nullable()
      .optional()
      .transform((text, check): Reason => {
        if (!text?.trim()) return defaultReason
        const status = readStatusWord(text)
        if (status && isOptOut(status)) return status === 'UNSUBSCRIBED' ? 'OPTED_OUT' : status
        check.addIssue({ code: 'custom', message: unknownReason })
        return z.NEVER
      }),
    createdAt: Moment,
  })
}

/** Returns a function that reads rows of a CSV (with `format`) or of NDJSON. */
export function suppressionReader(
  { rowStatus }: Pick<ClaimedImport, 'rowStatus'>,
  format?: CsvFormat,
): (row: FileRow<unknown>) => SuppressionRow {
  const defaultReason = rowStatus && isOptOut(rowStatus) && rowStatus !== 'UNSUBSCRIBED' ? rowStatus : 'MANUAL'
  const schema = Row(defaultReason)
  return (row) => {
    const read = format ? readCsvRow(row as FileRow<string[]>, format) : readJsonRow(row, [])
    if ('message' in read) return read
    const { customFieldValues: _, ...properties } = read.properties
    const { data, error } = schema.safeParse(format ? properties : read.properties)
    return data ? { line: read.line, suppression: data } : toRowError(read.line, toIssues(error))
  }
}

export async function writeSuppressionRows(
  ctx: Ctx,
  claimed: ClaimedImport,
  rows: readonly SuppressionRow[],
): Promise<WrittenRows> {
  const valid = rows.filter((row) => 'suppression' in row)
  const added = valid.map(({ suppression: { createdAt: at, ...said } }) => ({ ...said, at, source: 'IMPORT' as const }))
  const store = (ctx: Ctx) => suppress(ctx, added, { emitsEvents: claimed.eachEvent })
  const stored = claimed.dryRun ? await rollBack(ctx, store) : await store(ctx)
  const count = (change: StoredSuppression['change']) => stored.filter((one) => one.change === change).length
  return {
    failed: rows.filter((row) => 'message' in row),
    counts: {
      created: count('CREATED'),
      updated: count('UPDATED'),
      skipped: count('UNCHANGED'),
      confirmed: 0,
      suppressed: stored.length,
    },
  }
}

const rolledBack = new Error('rolled back')

/** Does the work and undoes it: so a dry run counts what the import would do. */
async function rollBack<Result>(ctx: Ctx, work: (ctx: Ctx) => Promise<Result[]>): Promise<Result[]> {
  let result: Result[] = []
  await inTransaction(ctx, async (ctx) => {
    result = await work(ctx)
    throw rolledBack
  }).catch((error: unknown) => {
    if (error !== rolledBack) throw error
  })
  return result
}
