import { sql } from 'drizzle-orm'
import type { ContactRow } from '../contacts/contact-record.ts'
import { emailKey } from '../contacts/identity/contact-keys.ts'
import { mergePolicies } from '../contacts/merge-contact.ts'
import { type ContactOutcome, writeContacts } from '../contacts/write-contacts.ts'
import { imports } from '../db/schema/index.ts'
import type { AppError } from '../kernel/errors.ts'
import { type ImportId, uuidOf } from '../kernel/ids.ts'
import { confirmSubscribers, emitConfirmed } from '../lists/bulk-subscribe-contacts.ts'
import { byId } from '../request/by-id.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { type ClaimedImport, lockClaimedImport } from './import-claim.ts'
import { type ImportRow, type RowError, toRowError } from './import-rows.ts'
import type { ImportRecord } from './imports.ts'
import type { Chunk } from './read-chunks.ts'

const maxErrors = 100

/**
 * Imports a chunk in one transaction, together with the counters and the position of the next chunk. Returns `lost`,
 * without any effect, if the import was canceled or the claim was lost. Idempotent: safe to retry when the result of a call was
 * lost. A dry run decides the same without writing contacts: it does not know the contacts of earlier chunks.
 */
export function writeChunk(ctx: Ctx, claimed: ClaimedImport, chunk: Chunk<ImportRow>): Promise<'written' | 'lost'> {
  return inTransaction(ctx, async (ctx) => {
    const current = await lockClaimedImport(ctx, claimed)
    if (!current) return 'lost'
    if (current.position === chunk.end.position) return 'written'
    if (current.position !== chunk.start.position) return 'lost'

    const { outcomes, failed } = await writeRows(ctx, claimed, chunk.rows)
    const count = (status: ContactOutcome['status']) => outcomes.filter((outcome) => outcome.status === status).length
    await ctx.db
      .update(imports)
      .set({
        ...chunk.end,
        processed: sql`${imports.processed} + ${chunk.rows.length}`,
        created: sql`${imports.created} + ${count('CREATED')}`,
        updated: sql`${imports.updated} + ${count('UPDATED')}`,
        skipped: sql`${imports.skipped} + ${count('UNCHANGED')}`,
        failed: sql`${imports.failed} + ${failed.length}`,
        errors: [...current.errors, ...failed.map(toShownError)].slice(0, maxErrors),
        errorCounts: countErrors(current.errorCounts, failed),
      })
      .where(byId(imports, ctx, claimed.id))
    await deletePartsBefore(ctx, claimed.id, chunk.end.position)
    return 'written'
  })
}

async function writeRows(ctx: Ctx, claimed: ClaimedImport, rows: readonly ImportRow[]) {
  const { id, actorId, onConflict, listId, eachEvent, dryRun } = claimed
  const valid = rows.filter((row) => 'contact' in row)
  const outcomes = await writeContacts(
    ctx,
    valid.map(({ contact }) => contact),
    { onExisting: onConflict === 'update' ? mergePolicies.import : 'keep', emitsEvents: eachEvent, isDryRun: dryRun },
  )
  const rejected = valid.flatMap(({ line }, index) => {
    const outcome = outcomes[index]
    return outcome?.status === 'REJECTED' ? [toRejectedRow(line, outcome.error)] : []
  })
  const failed = [...rows.filter((row) => 'message' in row), ...rejected].toSorted((a, b) => a.line - b.line)
  if (listId && !dryRun) {
    const contacts = outcomes.flatMap((outcome, index) =>
      'contact' in outcome && isAddressOf(outcome.contact, valid[index]?.contact.email) ? [outcome.contact] : [],
    )
    const reportedBy = { importId: id, actorId }
    const subscribers = await confirmSubscribers(ctx, { listId, contacts: uniqueById(contacts), reportedBy })
    if (eachEvent) await emitConfirmed(ctx, listId, subscribers)
  }
  return { outcomes, failed }
}

/** With `onConflict=skip`, a contact that its external id finds keeps its address: the row consents for another one. */
const isAddressOf = ({ email }: ContactRow, given = email) => emailKey(given) === emailKey(email)
const uniqueById = (contacts: readonly ContactRow[]) => [...new Map(contacts.map((one) => [one.id, one])).values()]

function toRejectedRow(line: number, { message, issues }: AppError): RowError {
  return issues ? toRowError(line, issues) : { line, column: null, message }
}

const toShownError = ({ line, column, message }: RowError) => ({
  line,
  message: column === null ? message : `${column}: ${message}`,
})

/** Counts the errors by column and message, up to 100 of these. */
function countErrors(counted: ImportRecord['errorCounts'], errors: readonly RowError[]): ImportRecord['errorCounts'] {
  const counts = new Map(counted.map((one) => [JSON.stringify([one.column, one.message]), one]))
  for (const { column, message } of errors) {
    const key = JSON.stringify([column, message])
    const known = counts.get(key)
    if (known || counts.size < maxErrors) counts.set(key, { column, message, count: (known?.count ?? 0) + 1 })
  }
  return [...counts.values()]
}

/** Deletes the parts of the file before the one that contains `position`. */
async function deletePartsBefore(ctx: Ctx, importId: ImportId, position: number): Promise<void> {
  const ofImport = sql`workspace_id = ${uuidOf(ctx.workspaceId)} and import_id = ${uuidOf(importId)}`
  await ctx.db.execute(sql`
    delete from import_parts where ${ofImport} and position < (
      select max(position) from import_parts where ${ofImport} and position <= ${position})`)
}
