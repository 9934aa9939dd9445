import { sql } from 'drizzle-orm'
import { compareContacts, findTagOverflow, readContacts, writeContacts } from '../contacts/bulk-write-contacts.ts'
import type { CheckedContact } from '../contacts/create-contact.ts'
import { maxTags } from '../contacts/update-contact.ts'
import { lockCustomFields } from '../contacts/custom-fields/custom-fields.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { emitMany } from '../events/emit.ts'
import { type ContactId, type ImportId, uuidOf } from '../kernel/ids.ts'
import { confirmSubscribers } from '../lists/bulk-subscribe-contacts.ts'
import { imports } from '../db/schema/index.ts'
import { type ClaimedImport, isMine } from './import-claim.ts'
import type { Chunk } from './read-chunks.ts'
import { contactCreated } from '../contacts/contact-events.ts'

const maxErrors = 100

interface Person {
  line: number
  contact: CheckedContact
}
interface Outcome {
  created: number
  updated: number
  refused: { line: number; message: string }[]
}

/**
 * Imports a chunk in one transaction with the counters and the place where the next one begins. `lost`: the import is
 * no longer this worker's, and nothing was done. Harmless to call again when the answer of the first call was lost.
 */
export function writeChunk(ctx: Ctx, claimed: ClaimedImport, chunk: Chunk): Promise<'written' | 'lost'> {
  return inTransaction(ctx, async (ctx) => {
    const [current] = await ctx.db
      .select({ position: imports.position, errors: imports.errors })
      .from(imports)
      .where(isMine(ctx, claimed))
      .for('update')
    if (!current) return 'lost'
    if (current.position === chunk.end.position) return 'written'
    if (current.position !== chunk.start.position) return 'lost'

    const people = chunk.rows.filter((row) => 'contact' in row)
    const failures = chunk.rows.filter((row) => 'error' in row).map(({ line, error }) => ({ line, message: error }))
    const { created, updated, refused } = await (claimed.dryRun ? preview : write)(ctx, claimed, people)
    const failed = [...failures, ...refused].toSorted((a, b) => a.line - b.line)
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
      .where(isMine(ctx, claimed))
    await deletePartsBefore(ctx, claimed.id, chunk.end.position)
    return 'written'
  })
}

async function write(ctx: Ctx, claimed: ClaimedImport, people: Person[]): Promise<Outcome> {
  const { onConflict, listId } = claimed
  const createdIds: ContactId[] = []
  const refused: Outcome['refused'] = []
  let updated = 0
  const known = await refuseUnknown(ctx, people, refused)
  for (const round of roundsOf(known, onConflict)) {
    const accepted = onConflict === 'skip' ? round : await refuseOverflow(ctx, round, refused)
    const written = await writeContacts(ctx, contactsOf(accepted), onConflict)
    createdIds.push(...written.createdIds)
    updated += written.updated
  }
  if (listId) {
    const refusedLines = new Set(refused.map(({ line }) => line))
    const accepted = people.filter(({ line }) => !refusedLines.has(line))
    await confirmSubscribers(
      ctx,
      listId,
      accepted.map(({ contact }) => contact.email),
    )
  }
  if (claimed.eachEvent) await emitMany(ctx, contactCreated, await readContacts(ctx, createdIds))
  return { created: createdIds.length, updated, refused }
}

/** What `write` would do, as far as it can be told: a later row of the same address counts as one that changes something. */
async function preview(ctx: Ctx, claimed: ClaimedImport, people: Person[]): Promise<Outcome> {
  const [first = []] = roundsOf(people, 'skip')
  const unseen = await noteSeen(ctx, claimed.id, first)
  const refused: Outcome['refused'] = []
  if (claimed.onConflict === 'skip') {
    const { known } = await compareContacts(ctx, contactsOf(unseen))
    return { created: unseen.length - known, updated: 0, refused }
  }
  const accepted = await refuseOverflow(ctx, unseen, refused)
  const { known, changed } = await compareContacts(ctx, contactsOf(accepted))
  return { created: accepted.length - known, updated: changed + people.length - unseen.length, refused }
}

/**
 * The people in groups in which no address occurs twice, the first row of each in the first group and so on: as one
 * statement can touch a contact only once, and the rows of one person must take effect in their order. For `skip` only
 * the first row counts.
 */
function roundsOf(people: Person[], onConflict: 'skip' | 'update'): Person[][] {
  const rounds: Person[][] = []
  const seen = new Map<string, number>()
  for (const person of people) {
    const email = person.contact.email.toLowerCase()
    const round = seen.get(email) ?? 0
    seen.set(email, round + 1)
    if (onConflict === 'skip' && round > 0) continue
    ;(rounds[round] ??= []).push(person)
  }
  return rounds
}

async function refuseOverflow(ctx: Ctx, people: Person[], refused: Outcome['refused']): Promise<Person[]> {
  const overfull = await findTagOverflow(ctx, contactsOf(people))
  if (overfull.size === 0) return people
  const isOverfull = ({ contact }: Person) => overfull.has(contact.email.toLowerCase())
  for (const { line } of people.filter(isOverfull)) {
    refused.push({ line, message: `tags: a contact has at most ${maxTags}` })
  }
  return people.filter((person) => !isOverfull(person))
}

/** Those with a value of a field that was removed since the rows were checked. */
async function refuseUnknown(ctx: Ctx, people: Person[], refused: Outcome['refused']): Promise<Person[]> {
  const keysOf = ({ contact }: Person) => Object.keys(contact.customFieldValues)
  const fields = await lockCustomFields(ctx, [...new Set(people.flatMap(keysOf))])
  const unknownOf = (person: Person) => keysOf(person).find((key) => !fields.has(key))
  for (const person of people) {
    const key = unknownOf(person)
    if (key !== undefined) refused.push({ line: person.line, message: `Unknown custom field "${key}"` })
  }
  return people.filter((person) => unknownOf(person) === undefined)
}

const contactsOf = (people: readonly Person[]) => people.map(({ contact }) => contact)

/** Those whose address the dry run had not come across. */
async function noteSeen(ctx: Ctx, importId: ImportId, people: Person[]): Promise<Person[]> {
  const emails = people.map(({ contact }) => contact.email.toLowerCase())
  const result = await ctx.db.execute<{ email: string }>(sql`
    with given as (
      select email, hashtextextended(email, 0) as hash from unnest(${sql.param(emails)}::text[]) as given (email)),
    noted as (
      insert into import_seen (workspace_id, import_id, email_hash)
      select distinct ${uuidOf(ctx.workspaceId)}::uuid, ${uuidOf(importId)}::uuid, hash from given
      on conflict do nothing
      returning email_hash)
    select email from given join noted on noted.email_hash = given.hash`)
  const unseen = new Set(result.rows.map((row) => row.email))
  return people.filter(({ contact }) => unseen.has(contact.email.toLowerCase()))
}

/** The parts of the file that are done with; the one that holds `position` is not. */
async function deletePartsBefore(ctx: Ctx, importId: ImportId, position: number): Promise<void> {
  const mine = sql`workspace_id = ${uuidOf(ctx.workspaceId)} and import_id = ${uuidOf(importId)}`
  await ctx.db.execute(sql`
    delete from import_parts where ${mine} and position < (
      select max(position) from import_parts where ${mine} and position <= ${position})`)
}
