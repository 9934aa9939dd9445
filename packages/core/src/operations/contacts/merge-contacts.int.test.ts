import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { unsubscribeUrl } from '../../lists/subscription-links.ts'
import { subscriptions } from '../../db/schema/index.ts'
import {
  addSubscribers,
  createTestContact,
  createTestCtx,
  createTestList,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { reportByClient } from '@rapport/testing/fixtures/mail-reports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { mergeContacts } from './merge-contacts.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { createSuppression, listSuppressions } from '../../suppressions/suppressions.ts'
import { liftSuppression } from '../../suppressions/lift-suppression.ts'
import { unsubscribe } from './unsubscribe.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { newId } from '../../kernel/ids.ts'
import { timestampAt } from '../../kernel/values/timestamps.ts'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { addSubscriber } from '../../lists/subscribers.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test('the duplicate fills empty properties, adds its tags and is deleted', async () => {
  const kept = await createTestContact(ctx, { email: 'ada@example.com', firstName: 'Ada', tags: ['a'] })
  const duplicate = await createTestContact(ctx, { firstName: 'A.', lastName: 'Lovelace', phone: '+44 1', tags: ['b'] })
  const merged = await mergeContacts(ctx, kept.id, { contactId: duplicate.id })
  expect(merged).toMatchObject({
    email: 'ada@example.com',
    firstName: 'Ada',
    lastName: 'Lovelace',
    phone: '+44 1',
    tags: ['a', 'b'],
  })
  await expect(readContact(ctx, duplicate.id)).rejects.toMatchObject({ code: 'not_found' })
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'contact.created', 'contact.merged'])
})

test('a merge that would exceed 100 tags is rejected and changes nothing', async () => {
  const tagsFrom = (start: number) => Array.from({ length: 51 }, (_, n) => `tag ${start + n}`)
  const kept = await createTestContact(ctx, { tags: tagsFrom(0) })
  const [most, fitting] = [
    await createTestContact(ctx, { tags: tagsFrom(51) }),
    await createTestContact(ctx, { tags: tagsFrom(49) }),
  ]
  const tooMany = { code: 'validation_error', message: 'tags: a contact can have at most 100 tags' }
  await expect(mergeContacts(ctx, kept.id, { contactId: most.id })).rejects.toMatchObject(tooMany)
  expect(await readContact(ctx, most.id)).toEqual(most)
  expect((await mergeContacts(ctx, kept.id, { contactId: fitting.id })).tags).toHaveLength(100)
})

test('one of two concurrent merges of the same pair succeeds', async () => {
  for (let round = 0; round < 10; round += 1) {
    const [a, b] = [await createTestContact(ctx), await createTestContact(ctx)]
    const results = await Promise.allSettled([
      mergeContacts(ctx, a.id, { contactId: b.id }),
      mergeContacts(ctx, round % 2 ? a.id : b.id, { contactId: round % 2 ? b.id : a.id }),
    ])
    const errors = results.filter((result) => result.status === 'rejected').map((result) => result.reason as Error)
    expect(errors).toHaveLength(1)
    expect(errors[0]).toMatchObject({ message: 'Contact not found' })
  }
})

test.each([
  ['CONFIRMED', 'UNSUBSCRIBED', 'UNSUBSCRIBED'],
  ['UNSUBSCRIBED', 'CONFIRMED', 'UNSUBSCRIBED'],
  ['UNSUBSCRIBED', 'COMPLAINED', 'COMPLAINED'],
  ['PENDING', 'CONFIRMED', 'PENDING'],
  ['CONFIRMED', 'BOUNCED', 'CONFIRMED'],
] as const)('%s merged with %s results in %s: the strictest opt-out wins', async (here, there, result) => {
  const list = await createTestList(ctx)
  const [kept = newId('con')] = await addSubscribers(ctx, list.id, { count: 1, status: here, name: 'kept' })
  const [duplicate = newId('con')] = await addSubscribers(ctx, list.id, { count: 1, status: there, name: 'duplicate' })
  await mergeContacts(ctx, kept, { contactId: duplicate })
  const rows = await ctx.db.select().from(subscriptions).where(eq(subscriptions.workspaceId, ctx.workspaceId))
  expect(rows).toMatchObject([{ contactId: kept, status: result }])
})

test.each([true, false])('a bounce of the duplicate does not reach the other, on the list: %s', async (isOnList) => {
  const list = await createTestList(ctx)
  const [duplicate = newId('con')] = await addSubscribers(ctx, list.id, { count: 1, name: 'duplicate' })
  const [kept = newId('con')] = isOnList
    ? await addSubscribers(ctx, list.id, { count: 1, name: 'kept' })
    : [(await createTestContact(ctx)).id]
  const { email } = await readContact(ctx, duplicate)
  await reportByClient(ctx, { type: 'BOUNCE', email, permanent: true })
  expect(await readContact(ctx, duplicate)).toMatchObject({ emailSubscribedStatus: 'BOUNCED' })
  expect(await mergeContacts(ctx, kept, { contactId: duplicate })).toMatchObject({
    emailSubscribedStatus: 'SUBSCRIBED',
  })
  const rows = await ctx.db.select().from(subscriptions).where(eq(subscriptions.workspaceId, ctx.workspaceId))
  expect(rows).toMatchObject([{ contactId: kept, status: 'CONFIRMED', ownStatus: 'CONFIRMED' }])
})

test('the proofs of both are kept, the latest first, and twenty at most', async () => {
  const { id: listId } = await createTestList(ctx)
  const [kept, duplicate] = [await createTestContact(ctx), await createTestContact(ctx)]
  const minutes = { [kept.id]: 1, [duplicate.id]: 2 }
  for (const { id, email } of [kept, duplicate]) {
    await addSubscriber(ctx, listId, { contactId: id, status: 'CONFIRMED' })
    const [proof] = (await readConsents(id)) ?? []
    const at = (index: number) =>
      timestampAt(Date.parse('2026-01-01T00:00:00Z') - (20 * index + (minutes[id] ?? 0)) * 60_000)
    const consent = Array.from({ length: 15 }, (_, index) => ({ ...proof!, email, at: at(index) }))
    await database.db.update(subscriptions).set({ consent }).where(eq(subscriptions.contactId, id))
  }
  await mergeContacts(ctx, kept.id, { contactId: duplicate.id })
  const moments = ((await readConsents(kept.id)) ?? []).map(({ at }) => at)
  expect(moments).toHaveLength(20)
  expect(moments).toEqual(moments.toSorted().toReversed())
})

test('an open request of the remaining contact stays first, and its link completes it', async () => {
  const { id: listId } = await createTestList(ctx)
  const [kept, duplicate] = [await createTestContact(ctx), await createTestContact(ctx)]
  await addSubscriber(ctx, listId, { contactId: kept.id, status: 'PENDING' })
  await addSubscriber(ctx, listId, { contactId: duplicate.id, status: 'CONFIRMED' })
  await mergeContacts(ctx, kept.id, { contactId: duplicate.id })
  expect((await readConsents(kept.id))?.map(({ email, confirmedAt }) => [email, confirmedAt !== null])).toEqual([
    [kept.email, false],
    [duplicate.email, true],
  ])
})

async function readConsents(id: Contact['id']) {
  const [row] = await database.db.select().from(subscriptions).where(eq(subscriptions.contactId, id))
  return row?.consent
}

test('a block of the duplicate holds for the remaining contact until it is lifted', async () => {
  const list = await createTestList(ctx)
  const [duplicate = newId('con')] = await addSubscribers(ctx, list.id, { count: 1, name: 'duplicate' })
  const [kept = newId('con')] = await addSubscribers(ctx, list.id, { count: 1, name: 'kept' })
  const { email } = await readContact(ctx, duplicate)
  await createSuppression(ctx, { email, reason: 'MANUAL' })
  await mergeContacts(ctx, kept, { contactId: duplicate })
  const readRows = () => ctx.db.select().from(subscriptions).where(eq(subscriptions.workspaceId, ctx.workspaceId))
  expect(await readRows()).toMatchObject([{ contactId: kept, status: 'UNSUBSCRIBED', ownStatus: 'CONFIRMED' }])
  const { data } = await listSuppressions(ctx, { limit: 10, sort: '-createdAt' })
  for (const { id } of data.filter(({ contactId }) => contactId === kept))
    await liftSuppression(ctx, id, { note: 'a mistake' })
  expect(await readRows()).toMatchObject([{ contactId: kept, status: 'CONFIRMED', ownStatus: 'CONFIRMED' }])
})

test('an unsubscribe link of a duplicate works after several merges', async () => {
  const list = await createTestList(ctx)
  const [first = newId('con')] = await addSubscribers(ctx, list.id, { count: 1, name: 'first' })
  const [second, third] = [await createTestContact(ctx), await createTestContact(ctx)]
  const link = { listId: list.id, contactId: first, email: 'first-1@example.com' }
  const token = new URL(unsubscribeUrl(ctx, link)).searchParams.get('token') ?? ''
  await mergeContacts(ctx, second.id, { contactId: first })
  await mergeContacts(ctx, third.id, { contactId: second.id })
  expect(await readContact(ctx, third.id)).toMatchObject({ emailSubscribedStatus: 'SUBSCRIBED' })
  await unsubscribe(ctx, token)
  expect(await readContact(ctx, third.id)).toMatchObject({ emailSubscribedStatus: 'UNSUBSCRIBED' })
})

test('does not find a contact of another workspace', async () => {
  const other = await createTestContact(await createTestCtx(database.db))
  const own = await createTestContact(ctx)
  await expect(mergeContacts(ctx, own.id, { contactId: other.id })).rejects.toMatchObject({ code: 'validation_error' })
  await expect(mergeContacts(ctx, other.id, { contactId: own.id })).rejects.toMatchObject({ code: 'not_found' })
  await expect(mergeContacts(ctx, own.id, { contactId: own.id })).rejects.toMatchObject({ code: 'validation_error' })
  expect(await updateContact(ctx, own.id, {})).toEqual(own)
})
