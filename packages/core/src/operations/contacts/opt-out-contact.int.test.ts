import { createTestContact, createTestList, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import {
  confirmOn,
  countEnded,
  createTestSubscriber,
  readStatusesOn,
  unsubscribeTokenOf,
} from '@rapport/testing/consent/test-subscriber.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { backdate } from '@rapport/testing/postgres/backdate.ts'
import { eq, sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { auditEntries } from '../../db/schema/index.ts'
import { newId, type UserId, uuidOf } from '../../kernel/ids.ts'
import type { List } from '../../lists/lists.schema.ts'
import { subscribe } from '../../lists/subscribe.ts'
import { unsubscribeUrl } from '../../lists/subscription-links.ts'
import { addSubscriber, readSubscriber, removeSubscriber } from '../../lists/subscribers.ts'
import { listSubscriptionsOfContact } from '../../consent/list-subscriptions-of-contact.ts'
import { suppress } from '../../suppressions/suppress.ts'
import { mergeContacts } from './merge-contacts.ts'
import { optOutContact, undoOptOut } from './opt-out-contact.ts'
import { unsubscribe } from './unsubscribe.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const optedOut = { code: 'opted_out' }
let list: List
let other: List
let ada: Contact
beforeEach(async () => void ({ list, other, ada } = await createTestSubscriber(ctx)))

const optOut = (input: Parameters<typeof optOutContact>[2] = {}) => optOutContact(ctx, ada.id, input)
const undo = (input: Parameters<typeof undoOptOut>[2] = {}) => undoOptOut(ctx, ada.id, input)
const add = (on: List) => confirmOn(ctx, on, ada)
const statuses = () => readStatusesOn(ctx, [list, other], ada)
const statusOf = async (on: List) => (await readStatusesOn(ctx, [on], ada))[0]
const proofsOf = async (on: List) =>
  (await listSubscriptionsOfContact(ctx, ada.id, { limit: 100 })).data.find(({ listId }) => listId === on.id)?.consents

/** Uses the unsubscribe link in an email of the list. */
const clickUnsubscribe = (on: List) => unsubscribe(ctx, unsubscribeTokenOf(ctx, on, ada))

async function letPass(interval: string) {
  await database.db.execute(sql`
    update suppressions set ${backdate('undoable_until', interval)} where contact_id = ${uuidOf(ada.id)}`)
}

test('an opt-out from one list is proved, emits one event, and leaves the others', async () => {
  const contact = await optOut({ listId: list.id, note: 'called' })
  expect(contact).toEqual(await readContact(ctx, ada.id))
  await optOut({ listId: list.id })
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'CONFIRMED'])
  expect(await countEnded(ctx)).toBe(1)
  expect(await proofsOf(list)).toMatchObject([{ method: 'OPERATOR', note: 'called', actorId: null }, { method: 'API' }])
  await expect(add(list)).rejects.toMatchObject(optedOut)
})

test('an opt-out from all lists covers those to come, and a contact on no list', async () => {
  expect(await optOut({ note: 'wrote' })).toMatchObject({ emailSubscribedStatus: 'UNSUBSCRIBED' })
  await optOut()
  expect([await statuses(), await countEnded(ctx)]).toEqual([['UNSUBSCRIBED', 'UNSUBSCRIBED'], 2])
  expect(await proofsOf(other)).toMatchObject([{ method: 'OPERATOR', note: 'wrote' }, { method: 'API' }])
  const later = await createTestList(ctx)
  await expect(add(later)).rejects.toMatchObject(optedOut)
  await runTestImport(ctx, `email\n${ada.email}`, { listId: later.id })
  await expect(readSubscriber(ctx, later.id, ada.id)).rejects.toMatchObject({ code: 'not_found' })
  const eve = await createTestContact(ctx)
  expect(await optOutContact(ctx, eve.id, {})).toMatchObject({ emailSubscribedStatus: 'UNSUBSCRIBED' })
})

test('opt-outs that are recorded 25 times leave the proof of consent', async () => {
  const [consent] = (await proofsOf(list)) ?? []
  for (let time = 1; time <= 25; time++) {
    await optOut({ listId: list.id, note: `list ${time}` })
    await optOut({ note: `all ${time}` })
  }
  expect(await proofsOf(list)).toMatchObject([{ note: 'all 25' }, { note: 'list 25' }, { ...consent, method: 'API' }])
})

test('an opt-out that another user repeats keeps who recorded the note', async () => {
  const [first, second] = [newId('usr'), newId('usr')]
  const optOutBy = (userId: UserId, note?: string) =>
    optOutContact({ ...ctx, actor: { kind: 'user', userId, role: 'MEMBER' } }, ada.id, { note })
  await optOutBy(first)
  await optOutBy(second, 'called')
  const [noted] = (await proofsOf(list)) ?? []
  expect(noted).toMatchObject({ method: 'OPERATOR', actorId: second, note: 'called' })
  await optOutBy(first)
  expect(await proofsOf(list)).toMatchObject([{ ...noted }, { method: 'API' }])
  await optOutBy(first, 'wrote')
  expect(await proofsOf(list)).toMatchObject([{ actorId: first, note: 'wrote' }, { method: 'API' }])
})

test('an opt-out from a list that the contact is not on is kept too', async () => {
  const later = await createTestList(ctx)
  await optOut({ listId: later.id })
  expect(await statusOf(later)).toBe('UNSUBSCRIBED')
  await expect(add(later)).rejects.toMatchObject(optedOut)
  await undo({ listId: later.id })
  expect(await statusOf(later)).toBe('UNSUBSCRIBED')
  expect((await add(later)).subscription.status).toBe('CONFIRMED')
})

test('an opt-out from one list outlives the undo of one from all lists', async () => {
  await optOut()
  await optOut({ listId: list.id })
  await undo()
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'CONFIRMED'])
  await undo({ listId: list.id })
  expect(await statuses()).toEqual(['CONFIRMED', 'CONFIRMED'])
  expect(await proofsOf(list)).toHaveLength(1)
})

test('an undo restores what was, with the proofs, and nothing else', async () => {
  await removeSubscriber(ctx, other.id, ada.id)
  const proofs = [await proofsOf(list), await proofsOf(other)]
  await optOut()
  const restored = await undo()
  expect(restored).toMatchObject({ emailSubscribedStatus: 'SUBSCRIBED' })
  expect(await statuses()).toEqual(['CONFIRMED', 'UNSUBSCRIBED'])
  expect([await proofsOf(list), await proofsOf(other)]).toEqual(proofs)
  expect((await add(other)).subscription.status).toBe('CONFIRMED')
  await expect(undo()).rejects.toMatchObject({ code: 'wrong_state' })
  await expect(undo({ listId: list.id })).rejects.toMatchObject({ code: 'wrong_state' })
})

test.each(['one list', 'all lists'])('an undo is refused after ten minutes: %s', async (scope) => {
  const input = scope === 'one list' ? { listId: list.id } : {}
  await optOut(input)
  await letPass('11 minutes')
  await expect(undo(input)).rejects.toMatchObject(optedOut)
  expect(await statusOf(list)).toBe('UNSUBSCRIBED')
})

test('an undo does not revert what the person said meanwhile', async () => {
  await optOut()
  await clickUnsubscribe(list)
  await undo()
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'CONFIRMED'])
  await expect(undo({ listId: list.id })).rejects.toMatchObject(optedOut)
  await optOut({ listId: other.id })
  await clickUnsubscribe(other)
  await expect(undo({ listId: other.id })).rejects.toMatchObject(optedOut)
})

test.each(['LINK', 'IMPORT'] as const)('an undo does not revert an opt-out of all lists by %s', async (source) => {
  await optOut()
  await suppress(ctx, [{ email: ada.email, reason: 'OPTED_OUT', source }], { emitsEvents: false })
  await expect(undo()).rejects.toMatchObject(optedOut)
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED'])
})

test('an undo does not revert an opt-out of the person from before', async () => {
  await clickUnsubscribe(list)
  await optOut({ listId: list.id })
  await expect(undo({ listId: list.id })).rejects.toMatchObject(optedOut)
})

test('an undo makes no address mailable that bounced meanwhile', async () => {
  await optOut()
  await suppress(ctx, [{ email: ada.email, reason: 'BOUNCED', source: 'MAIL_EVENT' }], { emitsEvents: false })
  await undo()
  expect(await statuses()).toEqual(['BOUNCED', 'BOUNCED'])
})

test('an undo after a complaint keeps the complaint and emits nothing', async () => {
  await optOut()
  await suppress(ctx, [{ email: ada.email, reason: 'COMPLAINED', source: 'MAIL_EVENT' }], { emitsEvents: true })
  const before = await listEventTypes(ctx)
  await undo()
  expect([await statuses(), await listEventTypes(ctx)]).toEqual([['COMPLAINED', 'COMPLAINED'], before])
})

test('survives a merge in both directions', async () => {
  await optOut()
  const eve = await createTestContact(ctx)
  await addSubscriber(ctx, list.id, { contactId: eve.id, status: 'CONFIRMED' })
  await mergeContacts(ctx, eve.id, { contactId: ada.id })
  expect((await readSubscriber(ctx, list.id, eve.id)).status).toBe('UNSUBSCRIBED')
})

test('rejects an unknown contact and an unknown list', async () => {
  await expect(optOutContact(ctx, newId('con'), {})).rejects.toMatchObject({ code: 'not_found' })
  await expect(undoOptOut(ctx, newId('con'), {})).rejects.toMatchObject({ code: 'not_found' })
  await expect(optOut({ listId: newId('lst') })).rejects.toMatchObject({ code: 'validation_error' })
})

test('each is in the audit log, without the note of the opt-out', async () => {
  for (let time = 1; time <= 2; time++) await optOut({ note: 'Ada called' })
  await undo()
  const entries = await ctx.db
    .select({ action: auditEntries.action, subjectId: auditEntries.subjectId, details: auditEntries.details })
    .from(auditEntries)
    .where(eq(auditEntries.workspaceId, ctx.workspaceId))
    .orderBy(auditEntries.createdAt, auditEntries.id)
  expect(entries).toEqual([
    { action: 'contact.opted_out', subjectId: ada.id, details: {} },
    { action: 'contact.opted_out', subjectId: ada.id, details: {} },
    { action: 'contact.opt_out_undone', subjectId: ada.id, details: {} },
  ])
})

test('an undo does not revert what the person said as a contact that was merged', async () => {
  const own = await createTestContact(ctx, { email: 'own@example.com' })
  await addSubscriber(ctx, list.id, { contactId: own.id, status: 'CONFIRMED' })
  const url = new URL(unsubscribeUrl(ctx, { listId: list.id, contactId: own.id, email: own.email }))
  await unsubscribe(ctx, url.searchParams.get('token') ?? '')
  await optOut({ listId: list.id })
  await mergeContacts(ctx, ada.id, { contactId: own.id })
  await undo({ listId: list.id }).catch(() => {})
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'CONFIRMED'])
})

test('an undo does not revert an older opt-out of a contact that was merged', async () => {
  const own = await createTestContact(ctx, { email: 'own@example.com' })
  await optOutContact(ctx, own.id, {})
  await database.db.execute(sql`
    update suppressions set ${backdate('undoable_until', '11 minutes')} where contact_id = ${uuidOf(own.id)}`)
  await optOut()
  await mergeContacts(ctx, ada.id, { contactId: own.id })
  await expect(undo()).rejects.toMatchObject(optedOut)
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED'])
})

test.each([
  ['a removal', () => removeSubscriber(ctx, list.id, ada.id)],
  [
    'two removals',
    async () => {
      await removeSubscriber(ctx, list.id, ada.id)
      await removeSubscriber(ctx, list.id, ada.id)
    },
  ],
  [
    'a merge of two that were removed',
    async () => {
      const { id: contactId } = await createTestContact(ctx)
      await addSubscriber(ctx, list.id, { contactId, status: 'CONFIRMED' })
      await removeSubscriber(ctx, list.id, ada.id)
      await removeSubscriber(ctx, list.id, contactId)
      await mergeContacts(ctx, ada.id, { contactId })
    },
  ],
])('an undo leaves a contact PENDING that a visitor signed up after %s', async (_name, remove) => {
  await remove()
  await optOut({ listId: list.id })
  await subscribe(ctx, list.id, { email: ada.email, firstName: '', lastName: '' })
  await undo({ listId: list.id })
  expect(await statusOf(list)).toBe('PENDING')
})
