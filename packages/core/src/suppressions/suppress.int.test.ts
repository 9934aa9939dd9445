import { createTestContact, createTestList, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import type { Contact } from '../contacts/contacts.schema.ts'
import { findContactByEmail } from '../contacts/find-contact.ts'
import { readContact } from '../contacts/read-contact.ts'
import { subscriptions, suppressions } from '../db/schema/index.ts'
import { transaction } from '../db/transaction.ts'
import { deriveKeys } from '../kernel/crypto.ts'
import { newId } from '../kernel/ids.ts'
import type { List } from '../lists/lists.schema.ts'
import { addSubscriber, readSubscriber, removeSubscriber } from '../lists/subscribers.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { updateContact } from '../contacts/update-contact.ts'
import type { Ctx } from '../request/context.ts'
import { lockAddresses } from '../consent/address-locks.ts'
import { readSuppressions } from '../consent/consent-records.ts'
import { byStrictness, type Reason } from '../consent/suppression-rows.ts'
import { liftSuppression } from './lift-suppression.ts'
import { suppress } from './suppress.ts'
import { timestampAt } from '../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let list: List
let ada: Contact
beforeEach(async () => {
  list = await createTestList(ctx)
  ada = await createTestContact(ctx, { email: 'ada@example.com' })
  await addSubscriber(ctx, list.id, { contactId: ada.id, status: 'CONFIRMED' })
})

const give = (reason: Reason, { email = ada.email, on = ctx }: { email?: string; on?: Ctx } = {}) =>
  suppress(on, [{ email, reason, source: 'API' }], { emitsEvents: true })
const readRow = async () => {
  const [row] = await ctx.db.select().from(subscriptions).where(eq(subscriptions.workspaceId, ctx.workspaceId))
  return row
}
const readReasons = async (email = ada.email) =>
  byStrictness(await readSuppressions(ctx, { email })).map(({ reason }) => reason)
const unsubscribedEvents = async () =>
  (await listEventTypes(ctx)).filter((type) => type === 'subscription.unsubscribed').length

test.each<[Reason, string]>([
  ['COMPLAINED', 'COMPLAINED'],
  ['OPTED_OUT', 'UNSUBSCRIBED'],
  ['BOUNCED', 'BOUNCED'],
  ['MANUAL', 'UNSUBSCRIBED'],
])('%s ends the subscriptions of the contact at once, once', async (reason, status) => {
  const [first] = await give(reason)
  const ended = await readRow()
  const [again] = await give(reason)
  expect([first?.change, again?.change]).toEqual(['CREATED', 'UPDATED'])
  expect(Date.parse(again?.row.saidAt ?? '')).toBeGreaterThan(Date.parse(first?.row.saidAt ?? ''))
  expect(await readRow()).toEqual(ended)
  expect(ended).toMatchObject({ status, ownStatus: 'CONFIRMED' })
  expect(ended?.unsubscribedAt).toEqual(reason === 'BOUNCED' ? null : first?.row.firstSaidAt)
  expect(await unsubscribedEvents()).toBe(1)
  const adding = addSubscriber(ctx, list.id, { contactId: ada.id, status: 'CONFIRMED' })
  await expect(adding).rejects.toMatchObject({ code: 'opted_out' })
})

test('reasons add up in any order, the strictest first', async () => {
  for (const reason of ['MANUAL', 'COMPLAINED', 'BOUNCED', 'OPTED_OUT'] as const) await give(reason)
  expect(await readReasons()).toEqual(['COMPLAINED', 'OPTED_OUT', 'BOUNCED', 'MANUAL'])
  expect(await readRow()).toMatchObject({ status: 'COMPLAINED' })
  expect((await readContact(ctx, ada.id)).emailSubscribedStatus).toBe('COMPLAINED')
})

test('what the person said replaces a bounce and a block, not the other way round', async () => {
  await give('MANUAL')
  await give('BOUNCED')
  expect(await readRow()).toMatchObject({ status: 'BOUNCED', unsubscribedAt: null })
  await give('OPTED_OUT')
  const optedOut = { status: 'UNSUBSCRIBED', ownStatus: 'CONFIRMED' }
  expect(await readRow()).toMatchObject(optedOut)
  await give('BOUNCED')
  expect(await readRow()).toMatchObject(optedOut)
})

test('a contact without subscriptions shows the suppression of its address', async () => {
  const { id, email } = await createTestContact(ctx)
  await give('OPTED_OUT', { email })
  expect((await readContact(ctx, id)).emailSubscribedStatus).toBe('UNSUBSCRIBED')
})

test('a removal by the operator remains when it meets a bounce', async () => {
  await give('BOUNCED')
  await removeSubscriber(ctx, list.id, ada.id)
  expect(await readRow()).toMatchObject({ status: 'UNSUBSCRIBED', ownStatus: 'REMOVED' })
})

test.each<[Reason, string]>([
  ['COMPLAINED', 'COMPLAINED'],
  ['OPTED_OUT', 'UNSUBSCRIBED'],
  ['BOUNCED', 'CONFIRMED'],
  ['MANUAL', 'UNSUBSCRIBED'],
])('%s of the former address leaves the contact %s at the new one', async (reason, status) => {
  await give(reason)
  await updateContact(ctx, ada.id, { email: 'new@example.com' })
  expect((await readSubscriber(ctx, list.id, ada.id)).status).toBe(status)
  expect(await readReasons()).toEqual([reason])
  expect(await readReasons('new@example.com')).toEqual(reason === 'BOUNCED' ? [] : [reason])
})

test('an opt-out of a duplicate covers the remaining contact, on other lists too', async () => {
  const { id } = await createTestContact(ctx, { email: 'eve@example.com' })
  await give('OPTED_OUT')
  const other = await createTestList(ctx)
  await addSubscriber(ctx, other.id, { contactId: id, status: 'CONFIRMED' })
  await mergeContacts(ctx, id, { contactId: ada.id })
  expect((await readSubscriber(ctx, other.id, id)).status).toBe('UNSUBSCRIBED')
  expect(await readReasons('eve@example.com')).toEqual(['OPTED_OUT'])
})

test('a deletion keeps the suppression, without its note and contact', async () => {
  await suppress(ctx, [{ email: ada.email, reason: 'MANUAL', source: 'API', note: 'called' }], { emitsEvents: true })
  await deleteContact(ctx, ada.id)
  const [row] = await ctx.db.select().from(suppressions).where(eq(suppressions.workspaceId, ctx.workspaceId))
  expect(row).toMatchObject({ contactId: null, note: null, reason: 'MANUAL' })
})

test('after a new SECRET_KEY, what is said again is one row with the same id', async () => {
  const [before] = await give('OPTED_OUT')
  const keys = deriveKeys('a new secret', ['a secret that is known to every test'])
  const [after] = await give('OPTED_OUT', { on: { ...ctx, settings: { ...ctx.settings, keys } } })
  expect(after).toMatchObject({ change: 'UPDATED', row: { id: before?.row.id } })
  expect(after?.row.emailHash).not.toBe(before?.row.emailHash)
  expect(await ctx.db.$count(suppressions, eq(suppressions.workspaceId, ctx.workspaceId))).toBe(1)
})

test('an address is not subscribed by a request that runs while it is suppressed', async () => {
  const email = 'new@example.com'
  const suppressing = await openTransaction(ctx.db, (db) => give('OPTED_OUT', { email, on: { ...ctx, db } }))
  const adding = addSubscriber(ctx, list.id, { email, status: 'CONFIRMED' })
  await waitUntilBlocked(database.db)
  await Promise.all([suppressing.commit(), expect(adding).rejects.toMatchObject({ code: 'opted_out' })])
})

test('an address that is being subscribed is suppressed afterwards', async () => {
  const email = 'new@example.com'
  const adding = await openTransaction(ctx.db, (db) =>
    addSubscriber({ ...ctx, db }, list.id, { email, status: 'CONFIRMED' }),
  )
  const suppressing = give('OPTED_OUT', { email })
  await waitUntilBlocked(database.db)
  await adding.commit()
  await suppressing
  const added = await findContactByEmail(ctx, email)
  expect(added?.emailSubscribedStatus).toBe('UNSUBSCRIBED')
})

test('an opt-out that is stored while a bounce is lifted remains', async () => {
  const email = 'new@example.com'
  const [bounce] = await give('BOUNCED', { email })
  const suppressing = await openTransaction(ctx.db, (db) => give('OPTED_OUT', { email, on: { ...ctx, db } }))
  const lifting = liftSuppression(ctx, bounce?.row.id ?? newId('sup'), { note: 'it receives emails again' })
  await waitUntilBlocked(database.db)
  await Promise.all([suppressing.commit(), lifting])
  expect(await readReasons(email)).toEqual(['OPTED_OUT'])
})

test.each(['the change', 'the lift'])(
  'a contact that gets an address while its bounce is lifted: %s first',
  async (first) => {
    const email = 'new@example.com'
    const [bounce] = await give('BOUNCED', { email })
    const change = (on: Ctx) => updateContact(on, ada.id, { email })
    const lift = (on: Ctx) => liftSuppression(on, bounce?.row.id ?? newId('sup'), { note: 'it receives emails again' })
    const [one, other] = first === 'the change' ? [change, lift] : [lift, change]
    const running = await openTransaction(ctx.db, (db) => one({ ...ctx, db }))
    const waiting = other(ctx)
    await waitUntilBlocked(database.db)
    await Promise.all([running.commit(), waiting])
    expect([(await readRow())?.status, await readReasons(email)]).toEqual(['CONFIRMED', []])
  },
)

test('a contact that gets an address waits for a lift that still names who had it', async () => {
  const [bounce] = await give('BOUNCED')
  const { email } = await readContact(ctx, ada.id)
  await updateContact(ctx, ada.id, { email: 'elsewhere@example.com' })
  const { id: bob } = await createTestContact(ctx)
  await addSubscriber(ctx, list.id, { contactId: bob, status: 'CONFIRMED' })
  const running = await openTransaction(ctx.db, (db) => updateContact({ ...ctx, db }, bob, { email }))
  const lifting = liftSuppression(ctx, bounce?.row.id ?? newId('sup'), { note: 'it receives emails again' })
  await waitUntilBlocked(database.db)
  await Promise.all([running.commit(), lifting])
  expect((await readContact(ctx, bob)).emailSubscribedStatus).toBe('SUBSCRIBED')
})

test('a bounce is lifted although its contact is erased at the same time', async () => {
  const [bounce] = await give('BOUNCED')
  const erasing = await openTransaction(ctx.db, (db) => deleteContact({ ...ctx, db }, ada.id))
  const lifting = liftSuppression(ctx, bounce?.row.id ?? newId('sup'), { note: 'it receives emails again' })
  await waitUntilBlocked(database.db)
  await Promise.all([erasing.commit(), lifting])
  expect(await readReasons()).toEqual([])
})

test('an import that creates the contact of an address waits while it is suppressed', async () => {
  const [email, listId] = ['grace@example.com', list.id]
  await give('MANUAL', { email })
  const [isLocked, isWaiting] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const suppressing = transaction(database.db, async (db) => {
    await lockAddresses({ ...ctx, db }, [email], 'exclusive')
    isLocked.resolve()
    await isWaiting.promise
    await give('COMPLAINED', { email, on: { ...ctx, db } })
  })
  await isLocked.promise
  const importing = runTestImport(ctx, `email\n${email}`, { listId })
  await waitUntilBlocked(database.db)
  isWaiting.resolve()
  await suppressing
  expect(await importing).toMatchObject({ created: 1, confirmed: 0, failed: 0 })
  const contactId = (await findContactByEmail(ctx, email))?.id
  const rows = await ctx.db.select().from(suppressions).where(eq(suppressions.workspaceId, ctx.workspaceId))
  expect(byStrictness(rows)).toMatchObject([
    { contactId, reason: 'COMPLAINED' },
    { contactId, reason: 'MANUAL' },
  ])
})

test('a lift opens what a block has ended, also if a second file dates it earlier', async () => {
  const block = (day: string) =>
    suppress(ctx, [{ email: ada.email, reason: 'MANUAL', source: 'IMPORT', at: timestampAt(day) }], {
      emitsEvents: true,
    })
  const [first] = await block('2024-05-01')
  await block('2024-01-01')
  await liftSuppression(ctx, first?.row.id ?? newId('sup'), { note: 'It was a mistake' })
  expect((await readRow())?.status).toBe('CONFIRMED')
})

test.each<[string, () => Promise<unknown>]>([
  ['a block', () => give('MANUAL')],
  ['a row of a file', () => runTestImport(ctx, `email,status\n${ada.email},blocked`)],
])('an opt-out whose row is lost is written down before %s', async (_name, block) => {
  await give('OPTED_OUT')
  await ctx.db.delete(suppressions).where(eq(suppressions.workspaceId, ctx.workspaceId))
  await block()
  const rows = await readSuppressions(ctx, { email: ada.email, listId: 'any' })
  expect(byStrictness(rows).map(({ reason }) => reason)).toEqual(['OPTED_OUT', 'MANUAL'])
})
