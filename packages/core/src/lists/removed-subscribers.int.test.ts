/** Contacts that the operator removed from a list: they have not opted out and can be subscribed again. */
import { subscriptionRow } from '@rapport/testing/consent/confirm-subscribers.ts'
import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import type { Contact } from '../contacts/contacts.schema.ts'
import { readContact } from '../contacts/read-contact.ts'
import { updateContact } from '../contacts/update-contact.ts'
import { mails, subscriptions } from '../db/schema/index.ts'
import { type ContactId, idOf, newId, uuidOf } from '../kernel/ids.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { reportByClient } from '@rapport/testing/fixtures/mail-reports.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { unsubscribe } from '../operations/contacts/unsubscribe.ts'
import type { Subscription } from '../consent/subscriptions.schema.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestContact,
  createTestList,
  createTestWorker,
  listEventTypes,
  readMailedToken,
} from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { updateList } from './lists.ts'
import type { List } from './lists.schema.ts'
import { addSubscriber, readSubscriber, removeSubscriber } from './subscribers.ts'
import { unsubscribeUrl } from './subscription-links.ts'
import { confirmSubscription, subscribe } from './subscribe.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let list: List
let ada: Contact
beforeEach(async () => {
  list = await createTestList(ctx)
  ada = await createTestContact(ctx, { email: 'ada@example.com' })
  await add('CONFIRMED')
  await removeSubscriber(ctx, list.id, ada.id)
})

const optedOut = { code: 'opted_out' }
const mailsOf = () => ctx.db.$count(mails, sql`workspace_id = ${uuidOf(ctx.workspaceId)}`)
const set = (status: Subscription['status'], contactId: ContactId) =>
  ctx.db
    .insert(subscriptions)
    .values(subscriptionRow(ctx, { listId: list.id, contactId }, status))
    .onConflictDoUpdate({
      target: [subscriptions.workspaceId, subscriptions.listId, subscriptions.contactId],
      set: { status, ownStatus: status === 'PENDING' ? 'PENDING' : 'CONFIRMED' },
    })
const add = (
  status: 'PENDING' | 'CONFIRMED',
  input: { contactId?: ContactId; email?: string } = { contactId: ada.id },
) => addSubscriber(ctx, list.id, { ...input, status })
const read = async () => {
  const { status, unsubscribedAt } = await readSubscriber(ctx, list.id, ada.id)
  return [status, unsubscribedAt !== null]
}
const unsubscribeToken = () =>
  new URL(unsubscribeUrl(ctx, { listId: list.id, contactId: ada.id, email: ada.email })).searchParams.get('token') ?? ''
const eventsAfterRemoval = async () => {
  const types = await listEventTypes(ctx)
  return types.slice(types.indexOf('subscription.unsubscribed') + 1)
}

test('a visitor cannot subscribe a removed contact whose address has opted out', async () => {
  const other = await createTestContact(ctx)
  const link = { listId: list.id, contactId: other.id, email: ada.email }
  await unsubscribe(ctx, new URL(unsubscribeUrl(ctx, link)).searchParams.get('token') ?? '')
  await subscribe(ctx, list.id, { email: ada.email, firstName: '', lastName: '' })
  expect(await read()).toEqual(['UNSUBSCRIBED', true])
})

test('can be subscribed again like a new contact', async () => {
  expect(await add('PENDING')).toMatchObject({
    isNew: true,
    subscription: { status: 'PENDING', source: 'api', confirmedAt: null, unsubscribedAt: null },
  })
  expect(await mailsOf()).toBe(1)
  await confirmSubscription(ctx, await readMailedToken(ctx, ada.email))
  await removeSubscriber(ctx, list.id, ada.id)
  expect(await add('CONFIRMED')).toMatchObject({
    isNew: true,
    subscription: { status: 'CONFIRMED', confirmedAt: expect.any(String), unsubscribedAt: null },
  })
  expect((await readContact(ctx, ada.id)).emailSubscribedStatus).toBe('SUBSCRIBED')
  expect(await add('CONFIRMED')).toMatchObject({ isNew: false })
  expect(await eventsAfterRemoval()).toEqual([
    'subscription.created',
    'subscription.confirmed',
    'subscription.unsubscribed',
    'subscription.created',
    'subscription.confirmed',
  ])
})

test('becomes PENDING again even if a confirmation was mailed a minute ago', async () => {
  await add('PENDING')
  await removeSubscriber(ctx, list.id, ada.id)
  expect(await add('PENDING')).toMatchObject({ isNew: true, subscription: { status: 'PENDING' } })
  expect(await mailsOf()).toBe(2)
  await confirmSubscription(ctx, await readMailedToken(ctx, ada.email))
  expect(await read()).toEqual(['CONFIRMED', false])
})

test('is not confirmed by a link from before the removal, once PENDING again', async () => {
  await add('PENDING')
  const oldToken = await readMailedToken(ctx, ada.email)
  await removeSubscriber(ctx, list.id, ada.id)
  await add('PENDING')
  await expect(confirmSubscription(ctx, oldToken)).rejects.toMatchObject({ code: 'invalid_token' })
  expect(await read()).toEqual(['PENDING', false])
})

test.each([true, false])('is new to the public form, with double opt-in %s', async (doubleOptIn) => {
  await updateList(ctx, list.id, { doubleOptIn })
  await subscribe(ctx, list.id, { email: ada.email, firstName: '', lastName: '' })
  expect([await read(), await mailsOf()]).toEqual([['PENDING', false], 1])
})

test('is subscribed again by an import with consent', async () => {
  await runTestImport(ctx, `email\n${ada.email}`, { listId: list.id })
  expect(await read()).toEqual(['CONFIRMED', false])
  expect((await readContact(ctx, ada.id)).emailSubscribedStatus).toBe('SUBSCRIBED')
})

test.each<[string, () => Promise<unknown>]>([
  ['an unsubscribe link', () => unsubscribe(ctx, unsubscribeToken())],
  ['a complaint', () => reportByClient(ctx, { type: 'COMPLAINT', email: ada.email })],
  ['a bounce', () => reportByClient(ctx, { type: 'BOUNCE', permanent: true, email: ada.email })],
])('stays out after %s', async (_name, optOut) => {
  await optOut()
  for (const status of ['PENDING', 'CONFIRMED'] as const) await expect(add(status)).rejects.toMatchObject(optedOut)
  const before = await read()
  await runTestImport(ctx, `email\n${ada.email}`, { listId: list.id })
  await removeSubscriber(ctx, list.id, ada.id)
  expect(await read()).toEqual(before)
  await deleteContact(ctx, ada.id)
  await expect(add('CONFIRMED', { email: ada.email })).rejects.toMatchObject(optedOut)
})

test('stays out after a complaint whose row is lost', async () => {
  await ctx.db
    .update(subscriptions)
    .set({ status: 'COMPLAINED' })
    .where(sql`contact_id = ${uuidOf(ada.id)}`)
  await expect(add('CONFIRMED')).rejects.toMatchObject(optedOut)
  await runTestImport(ctx, `email\n${ada.email}`, { listId: list.id })
  expect(await read()).toEqual(['COMPLAINED', true])
})

test('leaves no opt-out when the contact is deleted, merged or gets another address', async () => {
  await updateContact(ctx, ada.id, { email: 'new@example.com' })
  expect((await add('CONFIRMED', { email: 'ada@example.com' })).subscription.status).toBe('CONFIRMED')
  await deleteContact(ctx, ada.id)
  const again = await add('CONFIRMED', { email: 'new@example.com' })
  await removeSubscriber(ctx, list.id, again.subscription.contactId)
  await mergeContacts(ctx, (await createTestContact(ctx)).id, { contactId: again.subscription.contactId })
  expect((await add('CONFIRMED', { email: 'new@example.com' })).subscription.status).toBe('CONFIRMED')
})

test('is unsubscribed when it gets an address that opted out', async () => {
  const other = await add('CONFIRMED', { email: 'other@example.com' })
  await set('UNSUBSCRIBED', other.subscription.contactId)
  await deleteContact(ctx, other.subscription.contactId)
  await updateContact(ctx, ada.id, { email: 'other@example.com' })
  await updateContact(ctx, ada.id, { email: 'back@example.com' })
  await expect(add('CONFIRMED')).rejects.toMatchObject(optedOut)
})

test.each([
  ['CONFIRMED', 'removed', 'removed'],
  ['removed', 'PENDING', 'removed'],
  ['removed', 'UNSUBSCRIBED', 'UNSUBSCRIBED'],
  ['UNSUBSCRIBED', 'removed', 'UNSUBSCRIBED'],
  ['COMPLAINED', 'removed', 'COMPLAINED'],
  ['none', 'removed', 'removed'],
] as const)('%s merged with %s results in %s', async (here, there, result) => {
  const [kept, duplicate] = [await createTestContact(ctx), await createTestContact(ctx)]
  for (const [{ id }, state] of [
    [kept, here],
    [duplicate, there],
  ] as const) {
    if (state !== 'none') await set(state === 'removed' ? 'CONFIRMED' : state, id)
    if (state === 'removed') await removeSubscriber(ctx, list.id, id)
  }
  const before = (await listEventTypes(ctx)).length
  await mergeContacts(ctx, kept.id, { contactId: duplicate.id })
  const emitted = (await listEventTypes(ctx)).slice(before)
  expect(emitted.includes('subscription.unsubscribed')).toBe(here === 'CONFIRMED')
  const adding = add('CONFIRMED', { contactId: kept.id }).then(
    ({ isNew }) => (isNew ? 'new' : 'known'),
    (error: unknown) => (error as { code: string }).code,
  )
  expect(await adding).toBe(result === 'removed' ? 'new' : 'opted_out')
})

test('is skipped by a campaign that was sent before the removal', async () => {
  const { batches, listId } = await startTestCampaign(ctx, 2)
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  await removeSubscriber(ctx, listId ?? newId('lst'), idOf('con', batch.contactUuids[0] ?? ''))
  expect((await sendTestBatch(ctx, batch)).recipients).toHaveLength(1)
})

test('is subscribed once by concurrent calls', async () => {
  const added = await Promise.all(Array.from({ length: 10 }, () => add('CONFIRMED')))
  expect(added.filter(({ isNew }) => isNew)).toHaveLength(1)
  expect(await eventsAfterRemoval()).toEqual(['subscription.created', 'subscription.confirmed'])
})
