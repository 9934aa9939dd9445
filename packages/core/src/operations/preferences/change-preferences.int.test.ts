import {
  createTestContact,
  createTestCtx,
  createTestList,
  readMailedToken,
} from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import {
  confirmOn,
  countEnded,
  createTestSubscriber,
  readStatusesOn,
  tokenIn,
} from '@rapport/testing/consent/test-subscriber.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { mails, suppressions } from '../../db/schema/index.ts'
import { newId } from '../../kernel/ids.ts'
import type { List } from '../../lists/lists.schema.ts'
import { confirmSubscription } from '../../lists/subscribe.ts'
import { addSubscriber, readSubscriber, removeSubscriber } from '../../lists/subscribers.ts'
import { listSubscriptionsOfContact } from '../../consent/list-subscriptions-of-contact.ts'
import { preferencesUrl } from '../../consent/preferences-links.ts'
import { suppress } from '../../suppressions/suppress.ts'
import { deleteContact } from '../contacts/delete-contact.ts'
import { mergeContacts } from '../contacts/merge-contacts.ts'
import { optOutContact, undoOptOut } from '../contacts/opt-out-contact.ts'
import { askToReturn, leaveListByPreferences, stopAllMail } from './change-preferences.ts'
import { readPreferences } from './read-preferences.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const email = 'ada@example.com'
const optedOut = { code: 'opted_out' }
let list: List
let other: List
let ada: Contact
let token: string
beforeEach(async () => {
  ;({ list, other, ada } = await createTestSubscriber(ctx, { email }))
  token = tokenIn(preferencesUrl(ctx, { contactId: ada.id, email }))
})

const statuses = (contact = ada) => readStatusesOn(ctx, [list, other], contact)
const add = (on: List, contact: Contact) => confirmOn(ctx, on, contact)

test('one stop ends every list, and refuses lists and imports that come later', async () => {
  await stopAllMail(ctx, token)
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED'])
  expect(await countEnded(ctx)).toBe(2)
  const later = await createTestList(ctx)
  await expect(add(later, ada)).rejects.toMatchObject(optedOut)
  const file = `email,status,confirmedAt\n${email},CONFIRMED,${new Date().toISOString()}\n`
  for (const listId of [list.id, later.id]) {
    await runTestImport(ctx, [file], { onConflict: 'update', listId })
  }
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED'])
  await expect(readSubscriber(ctx, later.id, ada.id)).rejects.toMatchObject({ code: 'not_found' })
  expect(await readPreferences(ctx, token)).toMatchObject({ hasOptedOut: true, holder: { canReturn: true } })
})

test('an operator does not undo the stop of a person', async () => {
  await optOutContact(ctx, ada.id, {})
  await stopAllMail(ctx, token)
  for (const scope of [{}, { listId: list.id }, { listId: other.id }])
    await expect(undoOptOut(ctx, ada.id, scope)).rejects.toMatchObject(optedOut)
  // The person comes back to one list: the other one remains theirs.
  await askToReturn(ctx, { token, listId: other.id })
  await confirmSubscription(ctx, await readMailedToken(ctx, email))
  await expect(undoOptOut(ctx, ada.id, { listId: list.id })).rejects.toMatchObject(optedOut)
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'CONFIRMED'])
})

test('requests twice at once change everything once', async () => {
  const leave = () => leaveListByPreferences(ctx, { token, listId: list.id })
  await Promise.all([leave(), leave(), leave()])
  expect([await countEnded(ctx), await statuses()]).toEqual([1, ['UNSUBSCRIBED', 'CONFIRMED']])
  await Promise.all(Array.from({ length: 3 }, () => stopAllMail(ctx, token)))
  expect([await countEnded(ctx), await statuses()]).toEqual([2, ['UNSUBSCRIBED', 'UNSUBSCRIBED']])
})

test('leaving counts at once, and coming back by the link in an email', async () => {
  await leaveListByPreferences(ctx, { token, listId: list.id })
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'CONFIRMED'])
  await expect(add(list, ada)).rejects.toMatchObject(optedOut)
  await askToReturn(ctx, { token, listId: list.id })
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'CONFIRMED'])
  await confirmSubscription(ctx, await readMailedToken(ctx, email))
  expect(await statuses()).toEqual(['CONFIRMED', 'CONFIRMED'])
  const { data } = await listSubscriptionsOfContact(ctx, ada.id, { limit: 10 })
  expect(data.find(({ listId }) => listId === list.id)?.consents[0]).toMatchObject({
    method: 'PREFERENCES_PAGE',
    confirmedAt: expect.any(String),
  })
})

test('a link asks to return to own lists only, and at no address that bounced', async () => {
  const unknown = await createTestList(ctx)
  await askToReturn(ctx, { token, listId: unknown.id })
  await askToReturn(ctx, { token, listId: newId('lst') })
  await leaveListByPreferences(ctx, { token, listId: list.id })
  await suppress(ctx, [{ email, reason: 'BOUNCED', source: 'MAIL_EVENT' }], { emitsEvents: true })
  await askToReturn(ctx, { token, listId: list.id })
  expect(await database.db.$count(mails, eq(mails.workspaceId, ctx.workspaceId))).toBe(0)
  await expect(readSubscriber(ctx, unknown.id, ada.id)).rejects.toMatchObject({ code: 'not_found' })
  expect(await readPreferences(ctx, token)).toMatchObject({
    holder: { canReturn: false, lists: [{ status: 'LEFT' }, { status: 'CONFIRMED' }] },
  })
})

test('a link to a former address shows nothing of the contact, and only opts out', async () => {
  ada = await updateContact(ctx, ada.id, { email: 'ada@new.example' })
  expect(await readPreferences(ctx, token)).toMatchObject({ holder: 'FORMER', hasOptedOut: false })
  await expect(askToReturn(ctx, { token, listId: list.id })).rejects.toMatchObject({ code: 'invalid_token' })
  await leaveListByPreferences(ctx, { token, listId: list.id })
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'CONFIRMED'])
  await stopAllMail(ctx, token)
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED'])
  expect(await readPreferences(ctx, token)).toMatchObject({ holder: 'FORMER', hasOptedOut: true })
  // The former address stays opted out, also for its next contact.
  await expect(add(other, await createTestContact(ctx, { email }))).rejects.toMatchObject(optedOut)
})

test('a link follows its contact into the one that it was merged with', async () => {
  const survivor = await createTestContact(ctx, { email: 'countess@example.com' })
  await mergeContacts(ctx, survivor.id, { contactId: ada.id })
  expect(await readPreferences(ctx, token)).toMatchObject({ holder: 'FORMER' })
  await stopAllMail(ctx, token)
  expect(await statuses(survivor)).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED'])
  // The survivor gets the address of the link.
  await updateContact(ctx, survivor.id, { email })
  expect(await readPreferences(ctx, token)).toMatchObject({
    hasOptedOut: true,
    holder: { maskedEmail: 'a•••@e••••.com' },
  })
})

test('a link of a deleted contact says so, and still opts the address out', async () => {
  await deleteContact(ctx, ada.id)
  expect(await readPreferences(ctx, token)).toMatchObject({ holder: 'ERASED', hasOptedOut: false })
  await Promise.all([stopAllMail(ctx, token), stopAllMail(ctx, token)])
  expect(await readPreferences(ctx, token)).toMatchObject({ holder: 'ERASED', hasOptedOut: true })
  await expect(add(list, await createTestContact(ctx, { email }))).rejects.toMatchObject(optedOut)
})

test('a stop of a deleted contact keeps the bounce that is recorded at the same time', async () => {
  await deleteContact(ctx, ada.id)
  await Promise.all([
    stopAllMail(ctx, token),
    suppress(ctx, [{ email, reason: 'BOUNCED', source: 'MAIL_EVENT' }], { emitsEvents: true }),
  ])
  const stored = await database.db.select().from(suppressions).where(eq(suppressions.workspaceId, ctx.workspaceId))
  expect(stored.map(({ reason }) => reason).toSorted()).toEqual(['BOUNCED', 'OPTED_OUT'])
})

test('the page shows lists by name, without removed and foreign subscriptions', async () => {
  const removed = await createTestList(ctx)
  await add(removed, ada)
  await removeSubscriber(ctx, removed.id, ada.id)
  await createTestList(ctx)
  await addSubscriber(ctx, (await createTestList(ctx, { name: 'C' })).id, { contactId: ada.id, status: 'PENDING' })
  const preferences = await readPreferences(ctx, token)
  expect(preferences?.holder).toMatchObject({
    lists: [
      { name: 'A', status: 'CONFIRMED' },
      { name: 'B', status: 'CONFIRMED' },
      { name: 'C', status: 'PENDING' },
    ],
  })
})

test('a token of one workspace changes nothing in another', async () => {
  const foreign = await createTestCtx(database.db)
  const foreignList = await createTestList(foreign)
  const twin = await createTestContact(foreign, { email })
  await addSubscriber(foreign, foreignList.id, { contactId: twin.id, status: 'CONFIRMED' })
  await leaveListByPreferences(ctx, { token, listId: foreignList.id })
  await stopAllMail(ctx, token)
  expect((await readSubscriber(foreign, foreignList.id, twin.id)).status).toBe('CONFIRMED')
})
