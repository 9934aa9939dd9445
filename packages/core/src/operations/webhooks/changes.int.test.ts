/** `changes` of every `*.updated`, whatever causes it. */
import { and, asc, eq, like } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { writeContactBatch } from '../../contacts/batch/write-contact-batch.ts'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { addTags, changeTags, updateContact } from '../../contacts/update-contact.ts'
import { findOrCreateContact, upsertContact } from '../../contacts/upsert-contact.ts'
import { createCustomField } from '../../custom-fields/custom-fields.ts'
import { events, members, users } from '../../db/schema/index.ts'
import type { Deal } from '../../deals/deals.schema.ts'
import { updateDeal } from '../../deals/update-deal.ts'
import { newId } from '../../kernel/ids.ts'
import type { Task } from '../../tasks/tasks.schema.ts'
import { updateTask } from '../../tasks/tasks.ts'
import { removeMember } from '../../team/members.ts'
import { createTestContact, createTestDeal, createTestTask } from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { mergeContacts } from '../contacts/merge-contacts.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

let ada: Contact
let deal: Deal
let task: Task
beforeEach(async () => {
  ada = await createTestContact(ctx, { email: 'ada@example.com' })
  deal = await createTestDeal(ctx, { contactId: ada.id, name: 'Engine' })
  task = await createTestTask(ctx, { contactId: ada.id, title: 'Call' })
})

/** The changes of the events of updates, in order. */
async function readChanges(): Promise<unknown[]> {
  const isUpdate = and(eq(events.workspaceId, ctx.workspaceId), like(events.type, '%.updated'))
  const rows = await ctx.db.select().from(events).where(isUpdate).orderBy(asc(events.id))
  return rows.map(({ data }) => (data as { changes: unknown }).changes)
}

const fail = (error: unknown) => {
  throw error
}
const address = { from: 'ada@example.com', to: 'ada@example.org' }

test.each([
  ['an update', () => updateContact(ctx, ada.id, { email: address.to })],
  ['an upsert', () => upsertContact(ctx, { email: address.to, externalId: 'user_1' })],
  [
    'a batch',
    () =>
      writeContactBatch(ctx, { contacts: [{ email: address.to, externalId: 'user_1' }], onConflict: 'update' }, fail),
  ],
] as const)('the event of %s has the former address', async (_name, change) => {
  await updateContact(ctx, ada.id, { externalId: 'user_1' })
  await change()
  expect(await readChanges()).toEqual([{ externalId: { from: null, to: 'user_1' } }, { email: address }])
})

test('a batch that updates a contact twice emits what each update changed', async () => {
  const contacts = ['Ada', 'Augusta'].map((firstName) => ({ email: ada.email, firstName }))
  await writeContactBatch(ctx, { contacts, onConflict: 'update' }, fail)
  expect(await readChanges()).toEqual([
    { firstName: { from: ada.firstName, to: 'Ada' } },
    { firstName: { from: 'Ada', to: 'Augusta' } },
  ])
})

test('tags, custom values and what a visitor fills are changes', async () => {
  await createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'TEXT', options: [] })
  await addTags(ctx, ada.id, { tags: ['vip'] })
  await changeTags(ctx, { contactIds: [ada.id], add: ['b'], remove: ['vip'] })
  await updateContact(ctx, ada.id, { customFieldValues: { plan: 'pro' } })
  await findOrCreateContact(ctx, { ...ada, phone: '+44 1' })
  expect(await readChanges()).toEqual([
    { tags: { from: [], to: ['vip'] } },
    { tags: { from: ['vip'], to: ['b'] } },
    { 'customFieldValues.plan': { from: null, to: 'pro' } },
    { phone: { from: null, to: '+44 1' } },
  ])
})

test('an import with an event for each contact names the changes', async () => {
  await runTestImport(ctx, `email,company\n${ada.email},AE`, { events: 'each', onConflict: 'update' })
  expect(await readChanges()).toEqual([{ company: { from: null, to: 'AE' } }])
})

test('a reopened deal and task name the fields that reopening changes', async () => {
  const { closedAt } = await updateDeal(ctx, deal.id, { status: 'WON' })
  const { completedAt } = await updateTask(ctx, task.id, { status: 'DONE' })
  await updateDeal(ctx, deal.id, { status: 'OPEN', name: 'Engine 2' })
  await updateTask(ctx, task.id, { status: 'OPEN' })
  expect(await readChanges()).toEqual([
    {
      name: { from: 'Engine', to: 'Engine 2' },
      status: { from: 'WON', to: 'OPEN' },
      closedAt: { from: closedAt, to: null },
    },
    { status: { from: 'DONE', to: 'OPEN' }, completedAt: { from: completedAt, to: null } },
  ])
})

test('records that move with a merge name the former contact', async () => {
  const survivor = await createTestContact(ctx)
  await mergeContacts(ctx, survivor.id, { contactId: ada.id })
  const contactId = { from: ada.id, to: survivor.id }
  expect(await readChanges()).toEqual([{ contactId }, { contactId }])
})

test('a task of a removed member names the former assignee', async () => {
  const userId = newId('usr')
  await ctx.db.insert(users).values({ id: userId, email: `${userId}@example.com`, passwordHash: '' })
  await ctx.db.insert(members).values({ workspaceId: ctx.workspaceId, userId, role: 'MEMBER' })
  await updateTask(ctx, task.id, { assigneeId: userId })
  await removeMember(ctx, userId)
  expect(await readChanges()).toEqual([
    { assigneeId: { from: null, to: userId } },
    { assigneeId: { from: userId, to: null } },
  ])
})

test('changes of more than 16 KiB are null', async () => {
  const notes = (letter: string) => letter.repeat(9_000)
  await updateTask(ctx, task.id, { notes: notes('a') })
  await updateTask(ctx, task.id, { notes: notes('b') })
  expect(await readChanges()).toEqual([{ notes: { from: task.notes, to: notes('a') } }, null])
})
