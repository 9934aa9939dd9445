import { expect, test } from 'vitest'
import {
  createTestContact,
  createTestCtx,
  createTestList,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { unsubscribeUrl } from '../lists/subscription-links.ts'
import { readSuppressions } from '../consent/consent-records.ts'
import { hashEmail } from '../consent/hash-email.ts'
import { subscribe } from '../lists/subscribe.ts'
import { addSubscriber } from '../lists/subscribers.ts'
import { listActivity } from './list-activity.ts'
import { addTags, updateContact, removeTag } from './update-contact.ts'
import { upsertContact } from './upsert-contact.ts'
import { ActivityQuery } from '../events/activity.ts'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { unsubscribe } from '../operations/contacts/unsubscribe.ts'
import { readContact } from './read-contact.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test('200 concurrent upserts of one email create one contact, and none fails', async () => {
  const upserts = Array.from({ length: 200 }, (_, n) =>
    upsertContact(ctx, { email: 'Ada@example.com', tags: [`t${n}`] }),
  )
  const results = await Promise.all(upserts)
  expect(results.filter((result) => result.isNew)).toHaveLength(1)
  expect(new Set(results.map((result) => result.contact.id)).size).toBe(1)
})

test('an upsert sets the given properties and keeps the rest, such as the email case', async () => {
  await upsertContact(ctx, { email: 'Ada@example.com', firstName: 'Ada', company: 'Engines' })
  const { contact, isNew } = await upsertContact(ctx, { email: 'ada@EXAMPLE.com', lastName: 'Lovelace' })
  expect(isNew).toBe(false)
  expect(contact).toMatchObject({
    email: 'Ada@example.com',
    firstName: 'Ada',
    lastName: 'Lovelace',
    company: 'Engines',
  })
})

test('a no-op update writes nothing and emits no event', async () => {
  const contact = await createTestContact(ctx, { firstName: 'Ada', tags: ['vip'] })
  expect(await updateContact(ctx, contact.id, { firstName: 'Ada', tags: ['vip'] })).toEqual(contact)
  expect(await addTags(ctx, contact.id, { tags: ['vip'] })).toEqual(contact)
  expect(await removeTag(ctx, contact.id, 'unused')).toEqual(contact)
  expect(await listEventTypes(ctx)).toEqual(['contact.created'])
})

test('an update merges custom values, removes null values, and emits one event', async () => {
  await createCustomField(ctx, { key: 'plan', label: 'Plan', type: 'TEXT', options: [] })
  await createCustomField(ctx, { key: 'seats', label: 'Seats', type: 'NUMBER', options: [] })
  const { id } = await createTestContact(ctx, { customFieldValues: { plan: 'free', seats: 3 } })
  const changed = await updateContact(ctx, id, { customFieldValues: { plan: 'pro', seats: null } })
  expect(changed.customFieldValues).toEqual({ plan: 'pro' })
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'contact.updated'])
})

test('concurrently added tags are all kept', async () => {
  const { id } = await createTestContact(ctx)
  await Promise.all(Array.from({ length: 20 }, (_, n) => addTags(ctx, id, { tags: [`t${n}`] })))
  expect((await readContact(ctx, id)).tags).toHaveLength(20)
})

test('rejects a taken email with conflict and the id of its contact', async () => {
  const ada = await createTestContact(ctx, { email: 'ada@example.com' })
  const eve = await createTestContact(ctx, { email: 'eve@example.com' })
  await expect(updateContact(ctx, eve.id, { email: 'ADA@example.com' })).rejects.toMatchObject({
    code: 'already_exists',
    details: { contactId: ada.id },
  })
})

test('a deleted contact keeps its opt-out, as a hash that differs by workspace', async () => {
  const list = await createTestList(ctx)
  await subscribe(ctx, list.id, { email: 'ada@example.com', firstName: '', lastName: '' })
  const { contact } = await upsertContact(ctx, { email: 'ada@example.com' })
  const link = { listId: list.id, contactId: contact.id, email: contact.email }
  const token = new URL(unsubscribeUrl(ctx, link)).searchParams.get('token') ?? ''
  await unsubscribe(ctx, token)
  await deleteContact(ctx, contact.id)
  await expect(readContact(ctx, contact.id)).rejects.toMatchObject({ code: 'not_found' })
  const hash = hashEmail(ctx, 'ADA@example.com')
  expect(await readSuppressions(ctx, { email: 'ADA@example.com', listId: list.id })).toMatchObject([
    { reason: 'OPTED_OUT' },
  ])
  expect(hashEmail(await createTestCtx(database.db), 'ada@example.com')).not.toBe(hash)
})

test('a deleted contact that opted out must confirm a new subscription', async () => {
  const list = await createTestList(ctx)
  const visitor = { email: 'ada@example.com', firstName: '', lastName: '' }
  await addSubscriber(ctx, list.id, { email: visitor.email, status: 'CONFIRMED' })
  const { contact } = await upsertContact(ctx, { email: 'ada@example.com' })
  expect(contact.emailSubscribedStatus).toBe('SUBSCRIBED')
  const link = { listId: list.id, contactId: contact.id, email: contact.email }
  const token = new URL(unsubscribeUrl(ctx, link)).searchParams.get('token') ?? ''
  await unsubscribe(ctx, token)
  await deleteContact(ctx, contact.id)
  await subscribe(ctx, list.id, visitor)
  const again = await upsertContact(ctx, { email: 'ada@example.com' })
  expect(again.contact.emailSubscribedStatus).toBe('UNSUBSCRIBED')
})

test('lists the events of a contact, newest first', async () => {
  const { id } = await createTestContact(ctx)
  await createTestContact(ctx)
  await updateContact(ctx, id, { firstName: 'Ada' })
  const page = await listActivity(ctx, id, ActivityQuery.parse({}))
  expect(page.data.map((activity) => activity.type)).toEqual(['contact.updated', 'contact.created'])
})
