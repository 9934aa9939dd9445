import { and, eq, sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import {
  createTestContact,
  createTestCtx,
  createTestDeal,
  createTestMember,
  createTestNote,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { readContact } from '../contacts/read-contact.ts'
import { events } from '../db/schema/index.ts'
import { type ContactId, newId, uuidOf } from '../kernel/ids.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'
import { setQuotas } from '../workspaces/set-quotas.ts'
import { createNote, maxNotesOfRecord } from './create-note.ts'
import { listNotes } from './list-notes.ts'
import { deleteNote, readNote, updateNote } from './notes.ts'
import { type Note, NoteChange, NoteInput, NoteQuery } from './notes.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let contactId: ContactId
beforeEach(async () => {
  contactId = (await createTestContact(ctx)).id
})

const create = (input: object) => createNote(ctx, NoteInput.parse({ body: 'Called', ...input }))
const find = async (query: Record<string, string>) =>
  (await listNotes(ctx, NoteQuery.parse(query))).data.map(({ body }) => body)

test('a new note emits note.created and moves lastActivityAt of the contact', async () => {
  const note = await create({ contactId })
  expect(note).toMatchObject({ kind: 'NOTE', contactId, dealId: null, occurredAt: note.createdAt })
  expect(await readNote(ctx, note.id)).toEqual(note)
  expect((await readContact(ctx, contactId)).lastActivityAt).toBe(note.createdAt)
  const ofNote = and(eq(events.workspaceId, ctx.workspaceId), eq(events.type, 'note.created'))
  expect(await ctx.db.select().from(events).where(ofNote)).toMatchObject([{ data: note, contactId }])
})

test('a note names its author: a member or an API key', async () => {
  const [userId, apiKeyId] = [await createTestMember(ctx), newId('key')]
  const input = NoteInput.parse({ contactId, body: 'Called' })
  const byMember = createNote({ ...ctx, actor: { kind: 'user', userId, role: 'MEMBER' } }, input)
  expect(await byMember).toMatchObject({ authorId: userId, apiKeyId: null })
  const byKey = createNote({ ...ctx, actor: { kind: 'apiKey', apiKeyId, role: 'MEMBER', rights: null } }, input)
  expect(await byKey).toMatchObject({ authorId: null, apiKeyId })
})

test('a note about a deal is about the contact of the deal, unless another is given', async () => {
  const deal = await createTestDeal(ctx, { contactId })
  expect(await create({ dealId: deal.id })).toMatchObject({ dealId: deal.id, contactId })
  const { id: other } = await createTestContact(ctx)
  expect(await create({ dealId: deal.id, contactId: other })).toMatchObject({ dealId: deal.id, contactId: other })
})

test('a record that does not exist, or is in another workspace, is not found', async () => {
  const other = await createTestCtx(database.db)
  const [foreign, foreignDeal] = [await createTestContact(other), await createTestDeal(other)]
  const refused = (path: string, message: string) => ({ code: 'validation_error', issues: [{ path, message }] })
  for (const id of [foreign.id, newId('con')])
    await expect(create({ contactId: id })).rejects.toMatchObject(refused('contactId', 'Contact not found'))
  for (const id of [foreignDeal.id, newId('dea')]) {
    await expect(create({ dealId: id })).rejects.toMatchObject(refused('dealId', 'Deal not found'))
    await expect(create({ dealId: id, contactId })).rejects.toMatchObject(refused('dealId', 'Deal not found'))
  }
  expect((await readContact(ctx, contactId)).lastActivityAt).toBeNull()
  for (const input of [
    { body: 'Called' },
    { contactId },
    { contactId, body: ' ' },
    { contactId, body: 'x', kind: 'SMS' },
  ])
    expect(NoteInput.safeParse(input).success).toBe(false)
})

test('an update emits note.updated with its changes, and a no-op none', async () => {
  const note = await create({ contactId, occurredAt: '2026-01-02T03:04:05Z' })
  const same = NoteChange.parse({ body: note.body, occurredAt: note.occurredAt })
  expect(await updateNote(ctx, note.id, same)).toEqual(note)
  const change = { kind: 'CALL', body: 'Called back', occurredAt: timestampAt('2026-01-03') } as const
  const updated = await updateNote(ctx, note.id, change)
  expect(updated).toEqual({ ...note, ...change, updatedAt: expect.any(String) })
  expect((await readContact(ctx, contactId)).lastActivityAt).not.toBe(note.createdAt)
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'note.created', 'note.updated'])
  expect(NoteChange.safeParse({ contactId }).success).toBe(false)
})

test('a text of more than 16 KiB is an error, in bytes', async () => {
  const body = 'é'.repeat(8_193)
  const tooLarge = { issues: [{ path: 'body', message: 'must have at most 16 KiB' }] }
  await expect(create({ contactId, body })).rejects.toMatchObject(tooLarge)
  const note = await create({ contactId, body: body.slice(1) })
  await expect(updateNote(ctx, note.id, { body })).rejects.toMatchObject(tooLarge)
})

test('a deleted note emits note.deleted and is not found', async () => {
  const note = await create({ contactId })
  await deleteNote(ctx, note.id)
  const missing = { code: 'not_found', message: 'Note not found' }
  await expect(readNote(ctx, note.id)).rejects.toMatchObject(missing)
  await expect(updateNote(ctx, note.id, { body: 'x' })).rejects.toMatchObject(missing)
  await expect(deleteNote(ctx, note.id)).rejects.toMatchObject(missing)
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'note.created', 'note.deleted'])
})

test('notes are filtered by what they are about, their author and their time', async () => {
  const { id: dealId } = await createTestDeal(ctx)
  const authorId = await createTestMember(ctx)
  const asMember = { ...ctx, actor: { kind: 'user', userId: authorId, role: 'MEMBER' } } as const
  await create({ contactId, body: 'first', kind: 'CALL', occurredAt: '2026-03-01' })
  await create({ dealId, body: 'second', kind: 'MEETING', occurredAt: '2026-01-01' })
  await createNote(asMember, NoteInput.parse({ contactId, body: 'third', occurredAt: '2026-02-01' }))
  await createTestNote(await createTestCtx(database.db))
  expect(await find({})).toEqual(['third', 'second', 'first'])
  expect(await find({ contactId })).toEqual(['third', 'first'])
  expect(await find({ dealId })).toEqual(['second'])
  expect(await find({ authorId })).toEqual(['third'])
  expect(await find({ kind: 'CALL' })).toEqual(['first'])
  expect(await find({ occurredAfter: '2026-02-01', occurredBefore: '2026-03-01' })).toEqual(['third'])
  expect(await find({ sort: 'occurredAt' })).toEqual(['second', 'third', 'first'])
  const page = await listNotes(ctx, NoteQuery.parse({ sort: '-occurredAt', limit: '2' }))
  expect(page.data.map(({ body }) => body)).toEqual(['first', 'third'])
  expect(await find({ sort: '-occurredAt', limit: '2', cursor: page.nextCursor ?? '' })).toEqual(['second'])
})

test('concurrent notes have their events, also beside one that is refused', async () => {
  const { id: other } = await createTestContact(ctx)
  const ids = [contactId, other, newId('con'), contactId]
  const outcomes = await Promise.allSettled(ids.map((id) => create({ contactId: id })))
  const [first, second, third, fourth] = outcomes
  expect(third).toMatchObject({ status: 'rejected', reason: { issues: [{ message: 'Contact not found' }] } })
  const created = [first, second, fourth].map((outcome) => (outcome?.status === 'fulfilled' ? outcome.value : outcome))
  const ofNotes = and(eq(events.workspaceId, ctx.workspaceId), eq(events.type, 'note.created'))
  const emitted = await ctx.db.select().from(events).where(ofNotes)
  expect(new Set(emitted.map(({ data }) => data))).toEqual(new Set(created))
  for (const note of created) expect(await readNote(ctx, (note as Note).id)).toEqual(note)
  expect((await readContact(ctx, other)).lastActivityAt).toBe((created[1] as Note).createdAt)
})

const fill = (column: string, id: string, count = maxNotesOfRecord) =>
  ctx.db.execute(sql`
    insert into notes (workspace_id, id, kind, body, occurred_at, ${sql.identifier(column)})
    select ${uuidOf(ctx.workspaceId)}, uuidv7(), 'NOTE', 'Called', now(), ${id}::uuid
    from generate_series(1, ${count}::int)`)

test('a record has at most 10,000 notes', async () => {
  const { id: dealId } = await createTestDeal(ctx)
  await fill('contact_id', uuidOf(contactId))
  await fill('deal_id', uuidOf(dealId))
  const isFull = (name: string) => ({ code: 'quota_exceeded', message: expect.stringContaining(name) })
  await expect(create({ contactId })).rejects.toMatchObject(isFull('contactId'))
  await expect(create({ dealId })).rejects.toMatchObject(isFull('dealId'))
  await create({ contactId: (await createTestContact(ctx)).id })
  expect((await readContact(ctx, contactId)).lastActivityAt).toBeNull()
})

test('concurrent notes do not exceed the maximum of their contact', async () => {
  await fill('contact_id', uuidOf(contactId), maxNotesOfRecord - 2)
  const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => create({ contactId })))
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual([
    ...Array.from({ length: 2 }, () => 'fulfilled'),
    ...Array.from({ length: 3 }, () => 'rejected'),
  ])
})

test('the quota of the workspace limits its notes', async () => {
  await setQuotas(ctx, { notes: 2 })
  await create({ contactId })
  await create({ contactId })
  await expect(create({ contactId })).rejects.toMatchObject({ code: 'quota_exceeded' })
})
