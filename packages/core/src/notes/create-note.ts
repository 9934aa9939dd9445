import { and, eq, sql } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import { owningContact, touchLastActivity, touchOwners } from '../contacts/touch-last-activity.ts'
import { jsonRows } from '../db/json-rows.ts'
import { companies, deals, notes } from '../db/schema/index.ts'
import { insertWithEvents } from '../events/insert-with-events.ts'
import { AppError, invalidField } from '../kernel/errors.ts'
import { type ContactId, type DealId, newId } from '../kernel/ids.ts'
import { maxNoteBytes, requireSize } from '../kernel/stored-size.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { recordQuota } from '../quotas/record-quota.ts'
import { byId } from '../request/by-id.ts'
import type { Ctx } from '../request/context.ts'
import { changedBeforeLock, inRounds } from '../request/in-rounds.ts'
import { noteCreated } from './note-events.ts'
import { type NoteRow, toNote } from './note-record.ts'
import type { Note, NoteInput } from './notes.schema.ts'

const quota = recordQuota('notes', notes)
export const maxNotesOfRecord = 10_000

/**
 * Creates a note and emits `note.created`. A note about a deal is about the contact of the deal too, so that it goes with
 * the person. Throws `validation_error` if a record does not exist, and `quota_exceeded` if one has the maximum of notes.
 */
export async function createNote(ctx: Ctx, input: NoteInput): Promise<Note> {
  requireSize('body', input.body, maxNoteBytes)
  return (await createTogether(ctx, input)) ?? (await inRounds(ctx, (ctx) => createAlone(ctx, input)))
}

/** Locks the records of the note, and counts their notes. */
async function createAlone(ctx: Ctx, input: NoteInput): Promise<Note> {
  const use = await quota.require(ctx)
  const note = toRow(ctx, { ...input, contactId: input.contactId ?? (await findContactOfDeal(ctx, input.dealId)) })
  await lockRecords(ctx, note, { isContactGiven: input.contactId !== null })
  await requireCapacity(ctx, note)
  await insertNote(ctx, note)
  quota.add(ctx, use, 1)
  return toNote(note)
}

/**
 * Most notes are about a contact alone, which is far from the maximum: concurrent ones share a statement, for speed. Alone,
 * a note costs nine times the CPU time in the API, and six times in PostgreSQL (16 at once, core alone, 2026-11-29). Returns
 * undefined for all others.
 */
async function createTogether(ctx: Ctx, input: NoteInput): Promise<Note | undefined> {
  const { contactId, companyId, dealId } = input
  if (!contactId || companyId || dealId || (await quota.isExact(ctx))) return undefined
  const use = await quota.require(ctx)
  const note = { ...toRow(ctx, input), contactId }
  if (!(await insertTogether(ctx, note))) return undefined
  quota.add(ctx, use, 1)
  return toNote(note)
}

function toRow({ workspaceId, actor }: Ctx, input: NoteInput): NoteRow {
  const now = timestampNow()
  return {
    workspaceId,
    id: newId('nte'),
    kind: input.kind,
    body: input.body,
    occurredAt: input.occurredAt ?? now,
    contactId: input.contactId,
    companyId: input.companyId,
    dealId: input.dealId,
    authorId: actor.kind === 'user' ? actor.userId : null,
    apiKeyId: actor.kind === 'apiKey' ? actor.apiKeyId : null,
    createdAt: now,
    updatedAt: now,
  }
}

/** Returns null for a deal that is unknown, or that has outlived its contact. */
async function findContactOfDeal(ctx: Ctx, id: DealId | null): Promise<ContactId | null> {
  const [deal] = id
    ? await ctx.db
        .select(dealColumns)
        .from(deals)
        .where(byId(deals, ctx, id))
    : []
  return deal && !deal.contactErasedAt ? deal.contactId : null
}

const dealColumns = { contactId: deals.contactId, contactErasedAt: deals.contactErasedAt }

/**
 * Locks the records of a note, the contact first: none is deleted, and none gets more notes, until the transaction ends.
 * Throws `changedBeforeLock` if the deal has another contact meanwhile.
 */
async function lockRecords(
  ctx: Ctx,
  { contactId, companyId, dealId, createdAt }: NoteRow,
  { isContactGiven }: { isContactGiven: boolean },
): Promise<void> {
  if (contactId && !(await touchLastActivity(ctx, contactId, createdAt)))
    throw isContactGiven ? invalidField('contactId', 'Contact not found') : changedBeforeLock
  if (dealId) {
    const [deal] = await ctx.db
      .select(dealColumns)
      .from(deals)
      .where(byId(deals, ctx, dealId))
      .for('no key update')
    if (!deal) throw invalidField('dealId', 'Deal not found')
    if (!isContactGiven && contactId !== (deal.contactErasedAt ? null : deal.contactId)) throw changedBeforeLock
  }
  // The company last, as in a change of a deal.
  if (!companyId) return
  const isCompany = byId(companies, ctx, companyId)
  const [company] = await ctx.db.select({ id: companies.id }).from(companies).where(isCompany).for('no key update')
  if (!company) throw invalidField('companyId', 'Company not found')
}

/** Throws if a record of the note has the maximum of notes. The caller has locked the records. */
async function requireCapacity(ctx: Ctx, note: NoteRow): Promise<void> {
  for (const name of ['contactId', 'companyId', 'dealId'] as const) {
    const id = note[name]
    const isFull = id !== null && (await countNotes(ctx, notes[name], id)) >= maxNotesOfRecord
    if (isFull) throw new AppError('quota_exceeded', `${name}: a record can have at most 10,000 notes`)
  }
}

function countNotes(ctx: Ctx, column: AnyPgColumn, id: string): Promise<number> {
  const found = ctx.db
    .select({ one: sql`1`.as('one') })
    .from(notes)
    .where(and(eq(notes.workspaceId, ctx.workspaceId), eq(column, id)))
    .limit(maxNotesOfRecord)
    .as('found')
  return ctx.db.$count(found)
}

const creation = { into: jsonRows(notes), event: noteCreated, toData: toNote }
const insertNote = insertWithEvents(creation)

/** More than the notes that several processes create of one contact before they see those of each other. */
const margin = 1_000

const insertTogether = insertWithEvents<NoteRow & { contactId: ContactId }, Note>({
  ...creation,
  name: 'notes of contacts',
  owner: {
    ...owningContact,
    // Not alone: `createNote` does that.
    lock: () => Promise.resolve(false),
    ctes: (param) =>
      touchOwners(
        param,
        sql`not exists (
          select from notes n where n.workspace_id = ${param.workspaceId} and n.contact_id = activities.contact_id
          offset ${sql.raw(String(maxNotesOfRecord - margin))})`,
      ),
  },
})
