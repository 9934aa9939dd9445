import { and, eq, sql } from 'drizzle-orm'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestContact,
  createTestCtx,
  createTestList,
  createTestWorker,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { readStats } from '../../campaigns/campaign-stats.ts'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { lists, subscriptions, suppressions } from '../../db/schema/index.ts'
import { type ContactId, newId, uuidOf } from '../../kernel/ids.ts'
import { addSubscriber, removeSubscriber } from '../../lists/subscribers.ts'
import type { List } from '../../lists/lists.schema.ts'
import { openUndo, unsubscribeUrl } from '../../lists/subscription-links.ts'
import type { Ctx } from '../../request/context.ts'
import { deleteContact } from './delete-contact.ts'
import { reportByClient } from '@rapport/testing/fixtures/mail-reports.ts'
import { mergeContacts } from './merge-contacts.ts'
import { undoUnsubscribe, unsubscribe } from './unsubscribe.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'

const database = useTestDatabase()
let ctx: Ctx
let list: List
let ada: Contact
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  list = await createTestList(ctx)
  ada = await createTestContact(ctx, { email: 'ada@example.com' })
  await addSubscriber(ctx, list.id, { contactId: ada.id, status: 'CONFIRMED' })
})

const invalidLink = { code: 'invalid_token', message: 'Invalid or expired link' }
const leaveToken = (of: Partial<Parameters<typeof unsubscribeUrl>[1]> = {}) => {
  const url = unsubscribeUrl(ctx, { listId: list.id, contactId: ada.id, email: ada.email, ...of })
  return new URL(url).searchParams.get('token') ?? ''
}
/** Unsubscribes, and returns the token that undoes it. */
const leave = async (of: Parameters<typeof leaveToken>[0] = {}) => (await unsubscribe(ctx, leaveToken(of))) ?? ''
const undo = (token: string) => undoUnsubscribe(ctx, token)

async function readSubscription(contactId: ContactId = ada.id) {
  const [row] = await ctx.db
    .select()
    .from(subscriptions)
    .where(and(eq(subscriptions.listId, list.id), eq(subscriptions.contactId, contactId)))
  return row
}
const countOptOuts = () => ctx.db.$count(suppressions, eq(suppressions.listId, list.id))

test('undoing restores the subscription and deletes the opt-out, with one event', async () => {
  const before = await readSubscription()
  const token = await leave()
  expect([(await readSubscription())?.status, await countOptOuts()]).toEqual(['UNSUBSCRIBED', 1])
  for (let times = 0; times < 3; times++) await undo(token)
  expect([{ ...(await readSubscription()), consent: before?.consent }, await countOptOuts()]).toEqual([before, 0])
  expect((await readContact(ctx, ada.id)).emailSubscribedStatus).toBe('SUBSCRIBED')
  expect((await listEventTypes(ctx)).filter((type) => type.startsWith('subscription.'))).toEqual([
    'subscription.created',
    'subscription.confirmed',
    'subscription.unsubscribed',
    'subscription.confirmed',
  ])
})

test('of concurrent attempts to undo, one changes the subscription', async () => {
  const token = await leave()
  await Promise.all(Array.from({ length: 8 }, () => undo(token)))
  expect((await listEventTypes(ctx)).filter((type) => type === 'subscription.confirmed')).toHaveLength(2)
})

test('only the unsubscribe that ended a confirmed subscription can be undone', async () => {
  await leave()
  expect(await unsubscribe(ctx, leaveToken())).toBeUndefined()
  const grace = await createTestContact(ctx, { email: 'grace@example.com' })
  await addSubscriber(ctx, list.id, { contactId: grace.id, status: 'PENDING' })
  expect(await unsubscribe(ctx, leaveToken({ contactId: grace.id, email: grace.email }))).toBeUndefined()
  expect(await unsubscribe(ctx, leaveToken({ contactId: newId('con') }))).toBeUndefined()
})

test('a token undoes its own unsubscribe only, not a later one', async () => {
  const first = await leave()
  await undo(first)
  const second = await leave()
  await expect(undo(first)).rejects.toMatchObject(invalidLink)
  expect((await readSubscription())?.status).toBe('UNSUBSCRIBED')
  await undo(second)
  expect((await readSubscription())?.status).toBe('CONFIRMED')
})

test('an undo is refused when its ten minutes are over by the clock of the database', async () => {
  const token = await leave()
  await ctx.db.update(suppressions).set({ undoableUntil: timestampNow() }).where(eq(suppressions.listId, list.id))
  await expect(undo(token)).rejects.toMatchObject(invalidLink)
})

test('the token expires ten minutes after the unsubscribe', async () => {
  const token = await leave()
  const minutesMs = 60_000
  const endedAt = Date.parse((await readSubscription())?.unsubscribedAt ?? '')
  expect(() => openUndo(ctx, token, endedAt + 10 * minutesMs + 1)).toThrow(expect.objectContaining(invalidLink))
  expect(openUndo(ctx, token, endedAt + 10 * minutesMs)).toMatchObject({ listId: list.id, contactId: ada.id })
})

test('no link of another purpose undoes, and the token opens no other link', async () => {
  const token = await leave()
  await expect(undo(leaveToken())).rejects.toMatchObject(invalidLink)
  const changed = `${token.slice(0, -1)}${token.endsWith('A') ? 'Q' : 'A'}`
  await expect(undo(changed)).rejects.toMatchObject(invalidLink)
  await expect(unsubscribe(ctx, token)).rejects.toMatchObject(invalidLink)
})

test('an address that bounced or complained meanwhile is not subscribed', async () => {
  for (const type of ['BOUNCE', 'COMPLAINT']) {
    const token = await leave()
    await reportByClient(ctx, { type, email: ada.email, permanent: true })
    await expect(undo(token)).rejects.toMatchObject(invalidLink)
    await ctx.db.execute(sql`delete from suppressions where workspace_id = ${uuidOf(ctx.workspaceId)}`)
    await ctx.db.execute(sql`update subscriptions set status = 'CONFIRMED' where list_id = ${uuidOf(list.id)}`)
  }
})

test('a contact that the operator removed meanwhile is not subscribed', async () => {
  const token = await leave()
  await removeSubscriber(ctx, list.id, ada.id)
  await expect(undo(token)).rejects.toMatchObject(invalidLink)
  expect(await readSubscription()).toMatchObject({ status: 'UNSUBSCRIBED', ownStatus: 'REMOVED' })
})

test('unsubscribing after a removal by the operator offers no way back', async () => {
  await removeSubscriber(ctx, list.id, ada.id)
  expect(await unsubscribe(ctx, leaveToken())).toBeUndefined()
  expect(await readSubscription()).toMatchObject({ status: 'UNSUBSCRIBED', ownStatus: 'REMOVED' })
})

test('a contact that got another address, or was deleted, is not subscribed', async () => {
  const token = await leave()
  await updateContact(ctx, ada.id, { email: 'another@example.com' })
  await expect(undo(token)).rejects.toMatchObject(invalidLink)
  // The email was sent to the former address.
  await ctx.db.execute(sql`update subscriptions set status = 'CONFIRMED' where list_id = ${uuidOf(list.id)}`)
  expect(await unsubscribe(ctx, leaveToken())).toBeUndefined()
  await deleteContact(ctx, ada.id)
  await expect(undo(token)).rejects.toMatchObject(invalidLink)
  expect(await readSubscription()).toBeUndefined()
})

test('after a merge, undoing works only if the address is the same', async () => {
  const token = await leave()
  const other = await createTestContact(ctx, { email: 'another@example.com' })
  await mergeContacts(ctx, other.id, { contactId: ada.id })
  await expect(undo(token)).rejects.toMatchObject(invalidLink)
  expect((await readSubscription(other.id))?.status).toBe('UNSUBSCRIBED')
})

test('a deleted list or workspace accepts no undo', async () => {
  const token = await leave()
  await ctx.db.update(lists).set({ deletedAt: timestampNow() }).where(eq(lists.id, list.id))
  await expect(undo(token)).rejects.toMatchObject(invalidLink)
  await ctx.db.update(lists).set({ deletedAt: null }).where(eq(lists.id, list.id))
  await ctx.db.execute(sql`update workspaces set deleted_at = now() where id = ${uuidOf(ctx.workspaceId)}`)
  await expect(undo(token)).rejects.toMatchObject(invalidLink)
})

test('unsubscribing again after an undo counts once in the campaign', async () => {
  const { id, listId, batches } = await startTestCampaign(ctx, 1)
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  const [recipient] = (await sendTestBatch(ctx, batch)).recipients
  if (!recipient || !listId) throw new Error('The campaign has no recipient')
  const of = { listId, contactId: recipient.id, email: recipient.email, campaignId: id }
  await undo(await leave(of))
  await leave(of)
  expect(await readStats(ctx, id)).toMatchObject({ sent: 1, unsubscribed: 1 })
})
