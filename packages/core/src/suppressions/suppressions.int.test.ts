import { createTestContact, createTestList, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import type { Contact } from '../contacts/contacts.schema.ts'
import { readContact } from '../contacts/read-contact.ts'
import { updateContact } from '../contacts/update-contact.ts'
import { auditEntries } from '../db/schema/index.ts'
import type { SuppressionId } from '../kernel/ids.ts'
import type { List } from '../lists/lists.schema.ts'
import { addSubscriber, readSubscriber, removeSubscriber } from '../lists/subscribers.ts'
import { liftSuppression } from './lift-suppression.ts'
import { suppress } from './suppress.ts'
import { createSuppression, listSuppressions, readSuppression } from './suppressions.ts'
import { SuppressionQuery } from './suppressions.schema.ts'

const ctx = useTestCtx(useTestDatabase())
let list: List
let ada: Contact
beforeEach(async () => {
  list = await createTestList(ctx)
  ada = await createTestContact(ctx, { email: 'ada@example.com' })
  await addSubscriber(ctx, list.id, { contactId: ada.id, status: 'CONFIRMED' })
})

type Given = 'MANUAL' | 'OPTED_OUT' | 'BOUNCED'
const give = async (reason: Given, note?: string) =>
  (await createSuppression(ctx, { email: ada.email, reason, note })).suppression
const lift = (id: SuppressionId) => liftSuppression(ctx, id, { note: 'it was wrong' })
const statusOfAda = async () => (await readSubscriber(ctx, list.id, ada.id)).status
const find = async (query: Record<string, string>) =>
  (await listSuppressions(ctx, SuppressionQuery.parse(query))).data.map(({ id }) => id)

test('a statement is one row, whatever the spelling, and its moment moves', async () => {
  const first = await createSuppression(ctx, { email: 'ADA@example.com', reason: 'MANUAL', note: 'first' })
  expect(first).toMatchObject({
    isNew: true,
    suppression: { contactId: ada.id, listId: null, reason: 'MANUAL', source: 'API', note: 'first' },
  })
  const again = await createSuppression(ctx, { email: ada.email, reason: 'MANUAL' })
  expect(again).toMatchObject({ isNew: false, suppression: { id: first.suppression.id, note: 'first' } })
  expect(again.suppression.saidAt > first.suppression.saidAt).toBe(true)
  expect(again.suppression.firstSaidAt).toBe(first.suppression.firstSaidAt)
  expect(await createSuppression(ctx, { email: ada.email, reason: 'BOUNCED' })).toMatchObject({ isNew: true })
  expect(await find({ email: ada.email })).toHaveLength(2)
})

test('an opt-out of one list is of that list', async () => {
  const other = await createTestList(ctx)
  await addSubscriber(ctx, other.id, { contactId: ada.id, status: 'CONFIRMED' })
  const { suppression } = await createSuppression(ctx, { email: ada.email, listId: list.id, reason: 'OPTED_OUT' })
  expect([await statusOfAda(), (await readSubscriber(ctx, other.id, ada.id)).status]).toEqual([
    'UNSUBSCRIBED',
    'CONFIRMED',
  ])
  expect([await find({}), await find({ listId: other.id })]).toEqual([[], []])
  expect([await find({ listId: 'any' }), await find({ listId: list.id })]).toEqual([[suppression.id], [suppression.id]])
  await expect(createSuppression(ctx, { email: ada.email, listId: list.id, reason: 'MANUAL' })).rejects.toMatchObject({
    code: 'validation_error',
    message: 'MANUAL is for all lists',
  })
})

test.each(['BOUNCED', 'MANUAL'] as const)('lifting %s restores the subscription, with an event', async (reason) => {
  const { id } = await give(reason)
  await lift(id)
  expect(await readSubscriber(ctx, list.id, ada.id)).toMatchObject({ status: 'CONFIRMED', unsubscribedAt: null })
  expect((await readContact(ctx, ada.id)).emailSubscribedStatus).toBe('SUBSCRIBED')
  expect((await listEventTypes(ctx)).slice(-2)).toEqual(['subscription.unsubscribed', 'subscription.confirmed'])
  await expect(readSuppression(ctx, id)).rejects.toMatchObject({ code: 'not_found' })
  await expect(lift(id)).rejects.toMatchObject({ code: 'not_found' })
})

test('each reason is lifted by itself', async () => {
  const bounce = await give('BOUNCED')
  const block = await give('MANUAL')
  await lift(bounce.id)
  expect(await readSuppression(ctx, block.id)).toMatchObject({ reason: 'MANUAL' })
  await expect(lift(bounce.id)).rejects.toMatchObject({ code: 'not_found' })
  expect(await statusOfAda()).toBe('UNSUBSCRIBED')
  await lift(block.id)
  expect(await statusOfAda()).toBe('CONFIRMED')
})

test('what the person said is not lifted, and remains when a bounce is', async () => {
  const { id } = await give('OPTED_OUT')
  await expect(lift(id)).rejects.toMatchObject({ code: 'opted_out' })
  await lift((await give('BOUNCED')).id)
  expect(await readSuppression(ctx, id)).toMatchObject({ reason: 'OPTED_OUT' })
  expect(await statusOfAda()).toBe('UNSUBSCRIBED')
})

test('a lift restores no one whom something else ended', async () => {
  await removeSubscriber(ctx, list.id, ada.id)
  await lift((await give('MANUAL')).id)
  expect(await statusOfAda()).toBe('UNSUBSCRIBED')
})

test('a contact that left the address is not affected when it is lifted', async () => {
  const { id } = await give('MANUAL')
  await updateContact(ctx, ada.id, { email: 'new@example.com' })
  await lift(id)
  expect(await statusOfAda()).toBe('UNSUBSCRIBED')
  expect(await find({ email: 'new@example.com' })).toHaveLength(1)
})

test('filters by reason, source and address', async () => {
  const { id } = await give('MANUAL')
  const [other] = await suppress(ctx, [{ email: 'eve@example.com', reason: 'COMPLAINED', source: 'MAIL_EVENT' }], {
    emitsEvents: false,
  })
  expect(await find({})).toEqual([other?.row.id, id])
  expect(await find({ reason: 'MANUAL' })).toEqual([id])
  expect(await find({ source: 'MAIL_EVENT' })).toEqual([other?.row.id])
  expect(await find({ email: 'ADA@example.com' })).toEqual([id])
  expect(await find({ email: 'eve.other@example.com' })).toEqual([])
})

test('creating, lifting and searching are in the audit log, without an address', async () => {
  const { id } = await give('MANUAL', 'asked us to')
  await find({ email: ada.email })
  await lift(id)
  const entries = await ctx.db
    .select({ action: auditEntries.action, subjectId: auditEntries.subjectId, details: auditEntries.details })
    .from(auditEntries)
    .where(eq(auditEntries.workspaceId, ctx.workspaceId))
    .orderBy(auditEntries.createdAt, auditEntries.id)
  expect(entries).toEqual([
    { action: 'suppression.created', subjectId: id, details: { reason: 'MANUAL' } },
    { action: 'suppressions.searched', subjectId: id, details: {} },
    {
      action: 'suppression.lifted',
      subjectId: id,
      details: { reason: 'MANUAL', note: 'it was wrong', contactId: ada.id },
    },
  ])
})
