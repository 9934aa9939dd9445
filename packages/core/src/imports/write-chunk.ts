import { sql } from 'drizzle-orm'
import {
  compareContacts,
  findOverflow,
  type OnConflict,
  readContacts,
  writeContacts,
} from '../contacts/bulk-write-contacts.ts'
import type { CheckedContact } from '../contacts/create-contact.ts'
import { exceedsCustomValueSize, lockCustomFields } from '../custom-fields/custom-fields.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { emitMany } from '../events/emit.ts'
import { type ContactId, type ImportId, uuidOf } from '../kernel/ids.ts'
import { confirmSubscribers, emitConfirmed } from '../lists/bulk-subscribe-contacts.ts'
import { imports } from '../db/schema/index.ts'
import { type ClaimedImport, isClaimedBy } from './import-claim.ts'
import type { Chunk } from './read-chunks.ts'
import { contactCreated, contactUpdated } from '../contacts/contact-events.ts'

const maxErrors = 100
const exceedsQuota = 'The workspace has the maximum number of contacts'

interface CheckedRow {
  line: number
  contact: CheckedContact
}
interface Outcome {
  created: number
  updated: number
  rejected: { line: number; message: string }[]
}

/**
 * Imports a chunk in one transaction, together with the counters and the position of the next chunk. Returns `lost`,
 * without any effect, if the worker no longer owns the claim. Idempotent: safe to retry when the result of a call was
 * lost.
 */
export function writeChunk(ctx: Ctx, claimed: ClaimedImport, chunk: Chunk): Promise<'written' | 'lost'> {
  return inTransaction(ctx, async (ctx) => {
    const [current] = await ctx.db
      .select({ position: imports.position, errors: imports.errors })
      .from(imports)
      .where(isClaimedBy(ctx, claimed))
      .for('update')
    if (!current) return 'lost'
    if (current.position === chunk.end.position) return 'written'
    if (current.position !== chunk.start.position) return 'lost'

    const rows = chunk.rows.filter((row) => 'contact' in row)
    const failures = chunk.rows.filter((row) => 'error' in row).map(({ line, error }) => ({ line, message: error }))
    const { created, updated, rejected } = await (claimed.dryRun ? preview : write)(ctx, claimed, rows)
    const failed = [...failures, ...rejected].toSorted((a, b) => a.line - b.line)
    const skipped = chunk.rows.length - created - updated - failed.length
    await ctx.db
      .update(imports)
      .set({
        ...chunk.end,
        processed: sql`${imports.processed} + ${chunk.rows.length}`,
        created: sql`${imports.created} + ${created}`,
        updated: sql`${imports.updated} + ${updated}`,
        skipped: sql`${imports.skipped} + ${skipped}`,
        failed: sql`${imports.failed} + ${failed.length}`,
        errors: [...current.errors, ...failed].slice(0, maxErrors),
      })
      .where(isClaimedBy(ctx, claimed))
    await deletePartsBefore(ctx, claimed.id, chunk.end.position)
    return 'written'
  })
}

async function write(ctx: Ctx, claimed: ClaimedImport, rows: CheckedRow[]): Promise<Outcome> {
  const { onConflict, listId } = claimed
  const createdIds = new Set<ContactId>()
  const updatedIds = new Set<ContactId>()
  const rejected: Outcome['rejected'] = []
  let updated = 0
  const valid = await rejectUnknownFields(ctx, rows, rejected)
  for (const round of splitIntoRounds(valid, onConflict)) {
    const accepted = await rejectOverflow(ctx, round, { onConflict, rejected })
    const written = await writeContacts(ctx, contactsOf(accepted), onConflict)
    for (const { line, contact } of accepted)
      if (written.exceeding.has(contact.email)) rejected.push({ line, message: exceedsQuota })
    for (const { id } of written.created) createdIds.add(id)
    // The event of a contact that this chunk creates shows its later rows too.
    for (const id of written.updatedIds) if (!createdIds.has(id)) updatedIds.add(id)
    updated += written.updatedIds.length
  }
  const rejectedLines = new Set(rejected.map(({ line }) => line))
  const emails = rows.filter(({ line }) => !rejectedLines.has(line)).map(({ contact }) => contact.email)
  const subscribers = listId && (await confirmSubscribers(ctx, { listId, emails, reportedBy: reporterOf(claimed) }))
  if (claimed.eachEvent) {
    await emitMany(ctx, contactCreated, await readContacts(ctx, [...createdIds]))
    await emitMany(ctx, contactUpdated, await readContacts(ctx, [...updatedIds]))
    if (subscribers) await emitConfirmed(ctx, listId, subscribers)
  }
  return { created: createdIds.size, updated, rejected }
}

const reporterOf = ({ id, actorId }: ClaimedImport) => ({ importId: id, actorId })

/** Predicts the outcome of `write`, but counts every later row with the same email as an update. */
async function preview(ctx: Ctx, claimed: ClaimedImport, rows: CheckedRow[]): Promise<Outcome> {
  const [first = []] = splitIntoRounds(rows, 'skip')
  const unseen = await recordUnseen(ctx, claimed.id, first)
  const rejected: Outcome['rejected'] = []
  const { onConflict } = claimed
  const accepted = await rejectOverflow(ctx, unseen, { onConflict, rejected })
  const { known, changed } = await compareContacts(ctx, contactsOf(accepted))
  const updated = onConflict === 'skip' ? 0 : changed + rows.length - unseen.length
  return { created: accepted.length - known, updated, rejected }
}

/**
 * Splits rows into rounds in which each email occurs once, because one statement can update a contact only once, and
 * rows with the same email must take effect in order. With `skip`, only the first row of an email counts.
 */
function splitIntoRounds(rows: CheckedRow[], onConflict: OnConflict): CheckedRow[][] {
  const rounds: CheckedRow[][] = []
  const seen = new Map<string, number>()
  for (const row of rows) {
    const email = row.contact.email.toLowerCase()
    const round = seen.get(email) ?? 0
    seen.set(email, round + 1)
    if (onConflict === 'skip' && round > 0) continue
    ;(rounds[round] ??= []).push(row)
  }
  return rounds
}

/** Rejects rows that would give a contact too many tags or custom field values. Returns the others. */
async function rejectOverflow(
  ctx: Ctx,
  rows: CheckedRow[],
  { onConflict, rejected }: { onConflict: OnConflict; rejected: Outcome['rejected'] },
): Promise<CheckedRow[]> {
  const inputs = contactsOf(rows)
  // With `skip`, only new contacts are written: a row must be too large by itself.
  const isAlone = ({ customFieldValues }: CheckedContact) => exceedsCustomValueSize(customFieldValues)
  const messages = await findOverflow(ctx, onConflict === 'skip' ? inputs.filter(isAlone) : inputs)
  const messageFor = ({ contact }: CheckedRow) => messages.get(contact.email.toLowerCase())
  for (const row of rows) {
    const message = messageFor(row)
    if (message !== undefined) rejected.push({ line: row.line, message })
  }
  return rows.filter((row) => messageFor(row) === undefined)
}

/** Rejects rows with a value of a custom field that was removed since the rows were validated. Returns the others. */
async function rejectUnknownFields(ctx: Ctx, rows: CheckedRow[], rejected: Outcome['rejected']): Promise<CheckedRow[]> {
  const keysOf = ({ contact }: CheckedRow) => Object.keys(contact.customFieldValues)
  const fields = await lockCustomFields(ctx, [...new Set(rows.flatMap(keysOf))])
  const findUnknownKey = (row: CheckedRow) => keysOf(row).find((key) => !fields.has(key))
  for (const row of rows) {
    const key = findUnknownKey(row)
    if (key !== undefined) rejected.push({ line: row.line, message: `customFieldValues.${key}: unknown custom field` })
  }
  return rows.filter((row) => findUnknownKey(row) === undefined)
}

const contactsOf = (rows: readonly CheckedRow[]) => rows.map(({ contact }) => contact)

/** Returns the rows whose email this dry run has not seen before, and records them as seen. */
async function recordUnseen(ctx: Ctx, importId: ImportId, rows: CheckedRow[]): Promise<CheckedRow[]> {
  const emails = rows.map(({ contact }) => contact.email.toLowerCase())
  const result = await ctx.db.execute<{ email: string }>(sql`
    with emails as (
      select email, hashtextextended(email, 0) as hash from unnest(${sql.param(emails)}::text[]) as emails (email)),
    inserted as (
      insert into import_seen (workspace_id, import_id, email_hash)
      select distinct ${uuidOf(ctx.workspaceId)}::uuid, ${uuidOf(importId)}::uuid, hash from emails
      on conflict do nothing
      returning email_hash)
    select email from emails join inserted on inserted.email_hash = emails.hash`)
  const unseen = new Set(result.rows.map((row) => row.email))
  return rows.filter(({ contact }) => unseen.has(contact.email.toLowerCase()))
}

/** Deletes the parts of the file before the one that contains `position`. */
async function deletePartsBefore(ctx: Ctx, importId: ImportId, position: number): Promise<void> {
  const ofImport = sql`workspace_id = ${uuidOf(ctx.workspaceId)} and import_id = ${uuidOf(importId)}`
  await ctx.db.execute(sql`
    delete from import_parts where ${ofImport} and position < (
      select max(position) from import_parts where ${ofImport} and position <= ${position})`)
}
