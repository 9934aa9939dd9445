/** Suppresses the addresses of a file. */
import { keepLists } from '../../consent/keep-lists.ts'
import type { Ctx } from '../../request/context.ts'
import { suppress } from '../../suppressions/suppress.ts'
import type { ClaimedImport } from '../import-claim.ts'
import { rowError } from '../rows/row-values.ts'
import { ofAllLists, type SuppressionRow } from '../rows/suppression-rows.ts'
import { countChanges } from './save-step.ts'
import type { WrittenRows } from './write-chunk.ts'

export async function writeSuppressionRows(
  ctx: Ctx,
  claimed: ClaimedImport,
  rows: readonly SuppressionRow[],
): Promise<WrittenRows> {
  const valid = rows.filter((row) => 'suppression' in row)
  const named = valid.flatMap(({ suppression: { listId } }) => listId ?? [])
  const lists = await keepLists(ctx, named)
  const isUnknown = ({ suppression: { listId } }: (typeof valid)[number]) => listId !== undefined && !lists.has(listId)
  const added = valid.flatMap((row) => {
    const { saidAt: at, listId, ...said } = row.suppression
    const ofList = listId === undefined || isUnknown(row) ? {} : { listId }
    return row.emails.map((email) => ({ email, ...said, ...ofList, at, source: 'IMPORT' as const }))
  })
  const stored = await suppress(ctx, added, { emitsEvents: claimed.eachEvent })
  return {
    failed: rows.filter((row) => 'message' in row),
    warnings: valid.flatMap((row) => [
      ...row.warnings,
      ...(isUnknown(row) ? [rowError(row.line, { path: 'listId', message: ofAllLists })] : []),
    ]),
    counts: {
      ...countChanges(stored.map(({ change }) => change)),
      confirmed: 0,
      optedOut: 0,
      suppressed: stored.length,
    },
  }
}
