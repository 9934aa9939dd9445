/** What becomes of notes when their records are erased, merged or deleted, or their author leaves. */
import { eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import {
  createTestCompany,
  createTestContact,
  createTestDeal,
  createTestMember,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, openUnrepeated, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { readContact } from '../contacts/read-contact.ts'
import { deleteDeal, readDeal, updateDeal } from '../deals/update-deal.ts'
import { events, notes } from '../db/schema/index.ts'
import { type CompanyId, type ContactId, type DealId, uuidOf } from '../kernel/ids.ts'
import { deleteCompany } from '../operations/contacts/delete-company.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { eraseNextStep } from '../operations/contacts/erase-contact.ts'
import { writePersonJson } from '../operations/contacts/export-person.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import type { Ctx } from '../request/context.ts'
import { removeMember } from '../team/members.ts'
import { createNote } from './create-note.ts'
import { readNote, updateNote } from './notes.ts'
import { NoteInput } from './notes.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let contactId: ContactId
let companyId: CompanyId
let dealId: DealId
beforeEach(async () => {
  companyId = (await createTestCompany(ctx)).id
  contactId = (await createTestContact(ctx)).id
  dealId = (await createTestDeal(ctx)).id
})

const create = (input: object, as: Ctx = ctx) => createNote(as, NoteInput.parse({ body: 'Called Zephyrine', ...input }))
const countNotes = () => ctx.db.$count(notes, eq(notes.workspaceId, ctx.workspaceId))
const missing = { code: 'not_found' }

async function erase(id: ContactId): Promise<void> {
  await deleteContact(ctx, id)
  while ((await eraseNextStep(ctx, uuidOf(id))) !== 'done');
}

/** Returns the events of notes, oldest first. */
async function readEvents() {
  const rows = await ctx.db.select().from(events).where(eq(events.workspaceId, ctx.workspaceId)).orderBy(events.id)
  return rows.filter(({ type }) => type.startsWith('note.')).map(({ type, data }) => [type, data])
}

test('a note of a person and a company goes with the person, and its texts', async () => {
  const note = await create({ contactId, companyId, dealId })
  const ofCompany = await create({ companyId, body: 'Called the office' })
  await updateNote(ctx, note.id, { body: 'Called Zephyrine again' })
  await erase(contactId)
  await expect(readNote(ctx, note.id)).rejects.toMatchObject(missing)
  const redacted = { id: note.id, redacted: true }
  expect(await readEvents()).toEqual([
    ['note.created', redacted],
    ['note.created', ofCompany],
    ['note.updated', redacted],
    ['note.deleted', redacted],
  ])
  expect(await readNote(ctx, ofCompany.id)).toEqual(ofCompany)
  expect(await readDeal(ctx, dealId)).toMatchObject({ id: dealId })
})

test('a note about a closed deal goes with the contact of the deal', async () => {
  const deal = await createTestDeal(ctx, { contactId })
  const note = await create({ dealId: deal.id })
  await updateDeal(ctx, deal.id, { status: 'WON' })
  await erase(contactId)
  await expect(readNote(ctx, note.id)).rejects.toMatchObject(missing)
  expect(JSON.stringify(await readEvents())).not.toContain('Zephyrine')
  expect(await create({ dealId: deal.id })).toMatchObject({ contactId: null, dealId: deal.id })
})

test('a note of another contact loses the open deal that an erasure deletes', async () => {
  const deal = await createTestDeal(ctx, { contactId })
  const { id: other } = await createTestContact(ctx)
  const note = await create({ contactId: other, dealId: deal.id })
  await erase(contactId)
  expect(await readNote(ctx, note.id)).toMatchObject({ contactId: other, dealId: null })
})

test('a merge moves the notes, each with an event, and an erasure finds them', async () => {
  const { id: survivor } = await createTestContact(ctx)
  const note = await create({ contactId })
  await mergeContacts(ctx, survivor, { contactId })
  const moved = await readNote(ctx, note.id)
  expect(moved).toEqual({ ...note, contactId: survivor, updatedAt: expect.any(String) })
  const changes = { contactId: { from: contactId, to: survivor } }
  expect((await readEvents()).at(-1)).toEqual(['note.updated', { ...moved, changes }])
  await erase(survivor)
  expect(await countNotes()).toBe(0)
  expect(JSON.stringify(await readEvents())).not.toContain('Zephyrine')
})

test('a deleted deal leaves its notes to their other records', async () => {
  const note = await create({ contactId, dealId })
  await deleteDeal(ctx, dealId)
  const kept = await readNote(ctx, note.id)
  expect(kept).toEqual({ ...note, dealId: null, updatedAt: expect.any(String) })
  expect((await readEvents()).at(-1)).toEqual([
    'note.updated',
    { ...kept, changes: { dealId: { from: dealId, to: null } } },
  ])
})

test('a note that names only a deleted deal is deleted, with an event', async () => {
  const deal = await createTestDeal(ctx, { contactId })
  await updateDeal(ctx, deal.id, { status: 'LOST' })
  await erase(contactId)
  const note = await create({ dealId: deal.id })
  await deleteDeal(ctx, deal.id)
  await expect(readNote(ctx, note.id)).rejects.toMatchObject(missing)
  expect((await readEvents()).at(-1)).toEqual(['note.deleted', note])
})

test('a deleted company leaves its notes to their other records, and takes the others', async () => {
  const [kept, gone] = [await create({ contactId, companyId }), await create({ companyId })]
  await deleteCompany(ctx, companyId)
  const released = await readNote(ctx, kept.id)
  expect(released).toEqual({ ...kept, companyId: null, updatedAt: expect.any(String) })
  await expect(readNote(ctx, gone.id)).rejects.toMatchObject(missing)
  expect((await readEvents()).slice(2)).toEqual([
    ['note.deleted', gone],
    ['note.updated', { ...released, changes: { companyId: { from: companyId, to: null } } }],
  ])
})

test('the notes of a member who leaves keep their author', async () => {
  const userId = await createTestMember(ctx)
  const note = await create({ contactId }, { ...ctx, actor: { kind: 'user', userId, role: 'MEMBER' } })
  await removeMember(ctx, userId)
  expect(await readNote(ctx, note.id)).toEqual(note)
})

test('the export of a person has the notes about them', async () => {
  const note = await create({ contactId })
  await create({ dealId })
  let json = ''
  for await (const part of writePersonJson(ctx, await readContact(ctx, contactId))) json += part
  expect(JSON.parse(json)).toMatchObject({ notes: [note] })
})

test('nothing is left of a note that is created while its contact is erased', async () => {
  const erasing = await openTransaction(ctx.db, (db) => deleteContact({ ...ctx, db }, contactId))
  const late = Promise.allSettled([create({ contactId }), create({ contactId, dealId })])
  await waitUntilBlocked(database.db, 2)
  await erasing.commit()
  const refused = { reason: { issues: [{ path: 'contactId', message: 'Contact not found' }] } }
  expect(await late).toMatchObject([refused, refused])

  const { id: other } = await createTestContact(ctx)
  const creating = await openTransaction(ctx.db, (db) => create({ contactId: other }, { ...ctx, db }))
  const erased = erase(other)
  await waitUntilBlocked(database.db)
  await creating.commit()
  await erased
  expect(await countNotes()).toBe(0)
  expect(JSON.stringify(await readEvents())).not.toContain('Zephyrine')
})

test('a note that is created while its deal is deleted names no deal', async () => {
  const deleting = await openTransaction(ctx.db, (db) => deleteDeal({ ...ctx, db }, dealId))
  const late = Promise.allSettled([create({ dealId, contactId })])
  await waitUntilBlocked(database.db)
  await deleting.commit()
  expect(await late).toMatchObject([{ reason: { message: 'Deal not found' } }])

  const { id } = await createTestDeal(ctx)
  const creating = await openTransaction(ctx.db, (db) => create({ dealId: id, contactId }, { ...ctx, db }))
  const deleted = deleteDeal(ctx, id)
  await waitUntilBlocked(database.db)
  await creating.commit()
  await deleted
  expect(await readEvents()).toMatchObject([
    ['note.created', { dealId: id }],
    ['note.updated', { dealId: null, contactId }],
  ])
})

test('nothing names a company that is deleted while a note is created', async () => {
  const [{ id: one }, { id: two }] = [await createTestCompany(ctx), await createTestCompany(ctx)]
  const creating = await openTransaction(ctx.db, (db) => create({ companyId: one, contactId }, { ...ctx, db }))
  const deleted = deleteCompany(ctx, one)
  await waitUntilBlocked(database.db)
  await creating.commit()
  await deleted
  const deleting = await openTransaction(ctx.db, (db) => deleteCompany({ ...ctx, db }, two))
  const late = Promise.allSettled([create({ companyId: two })])
  await waitUntilBlocked(database.db)
  await deleting.commit()
  expect(await late).toMatchObject([{ reason: { message: 'Company not found' } }])
  expect(await readEvents()).toMatchObject([
    ['note.created', { companyId: one }],
    ['note.updated', { companyId: null, contactId }],
  ])
})

test('a note about a deal that moves meanwhile is about its new contact', async () => {
  const moving = await openTransaction(ctx.db, (db) => updateDeal({ ...ctx, db }, dealId, { contactId }))
  const creating = create({ dealId })
  await waitUntilBlocked(database.db)
  await moving.commit()
  expect(await creating).toMatchObject({ dealId, contactId })
})

test('members who leave do not deadlock with merges and deals that are deleted', async () => {
  const unrepeated = { ...ctx, db: openUnrepeated(database) }
  for (let round = 0; round < 5; round++) {
    const userId = await createTestMember(ctx)
    const author: Ctx = { ...ctx, actor: { kind: 'user', userId, role: 'MEMBER' } }
    const [one, two, deal] = [await createTestContact(ctx), await createTestContact(ctx), await createTestDeal(ctx)]
    for (let n = 0; n < 20; n++) await create({ contactId: [one, two][n % 2]?.id, dealId: deal.id }, author)
    const work = [
      removeMember(unrepeated, userId),
      mergeContacts(unrepeated, one.id, { contactId: two.id }),
      deleteDeal(unrepeated, deal.id),
    ]
    expect((await Promise.allSettled(work)).map(({ status }) => status)).toEqual(work.map(() => 'fulfilled'))
  }
})
