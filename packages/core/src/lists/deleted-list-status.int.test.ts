/** The deletion of a list changes the status of its contacts at once, before a worker has removed any subscription. */
import { text } from 'node:stream/consumers'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { ContactQuery, ExportQuery } from '../contacts/contacts.schema.ts'
import { readContacts } from '../contacts/bulk-write-contacts.ts'
import { exportContacts } from '../contacts/export/export-contacts.ts'
import { listContacts } from '../contacts/listing/list-contacts.ts'
import { readContact } from '../contacts/read-contact.ts'
import { updateContact, upsertContact } from '../contacts/update-contact.ts'
import { contacts, emailSubscribedStatuses, subscriptions } from '../db/schema/index.ts'
import { type ContactId, newId, uuidOf } from '../kernel/ids.ts'
import { recordSubscriptionActivity } from '../subscriptions/subscribed-status.ts'
import {
  addSubscribers,
  createTestContact,
  createTestCtx,
  createTestList,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { clearDeletedList, deleteList } from './delete-list.ts'
import type { List } from './lists.schema.ts'
import { addSubscriber } from './subscribers.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

type Status = (typeof subscriptions.$inferSelect)['status']

/** Subscribes a new contact to lists. Returns its id. */
async function createSubscribed(lists: [List, Status][]): Promise<ContactId> {
  const { id } = await createTestContact(ctx)
  for (const [{ id: listId }, status] of lists)
    await ctx.db.insert(subscriptions).values({ workspaceId: ctx.workspaceId, listId, contactId: id, status })
  if (lists.length > 0) await recordSubscriptionActivity(ctx, [id])
  return id
}

/** Reads the status of all contacts in every way, which must agree. */
async function readStatuses(ids: readonly ContactId[]): Promise<string[]> {
  const statuses = await Promise.all(ids.map(async (id) => (await readContact(ctx, id)).emailSubscribedStatus))
  const expected = new Map(ids.map((id, index) => [id, statuses[index]]))
  const exported = await text(await exportContacts(ctx, ExportQuery.parse({ format: 'ndjson' })))
  const lines = exported.trim().split('\n')
  const listings = [
    lines.map((line) => JSON.parse(line) as { id: ContactId; emailSubscribedStatus: string }),
    await readContacts(ctx, ids),
    await list({}),
    await list({ sort: 'email' }),
    await list({ search: 'example.com' }),
    (await Promise.all(emailSubscribedStatuses.map((status) => list({ emailSubscribedStatus: status })))).flat(),
  ]
  for (const listing of listings)
    expect(new Map(listing.map((one) => [one.id, one.emailSubscribedStatus]))).toEqual(expected)
  for (const status of emailSubscribedStatuses) {
    const found = await list({ emailSubscribedStatus: status })
    expect(found.every((contact) => contact.emailSubscribedStatus === status)).toBe(true)
  }
  return statuses
}

async function list(query: Record<string, string>) {
  return (await listContacts(ctx, ContactQuery.parse({ limit: '100', ...query }))).data
}

test('reads and filters show the status without a deleted list at once', async () => {
  const [deleted, kept] = [await createTestList(ctx), await createTestList(ctx)]
  const ids = [
    await createSubscribed([]),
    await createSubscribed([[deleted, 'CONFIRMED']]),
    await createSubscribed([
      [deleted, 'COMPLAINED'],
      [kept, 'CONFIRMED'],
    ]),
    await createSubscribed([
      [deleted, 'CONFIRMED'],
      [kept, 'UNSUBSCRIBED'],
    ]),
    await createSubscribed([
      [deleted, 'UNSUBSCRIBED'],
      [kept, 'PENDING'],
    ]),
    await createSubscribed([[kept, 'BOUNCED']]),
  ]
  expect(await readStatuses(ids)).toEqual(['NONE', 'SUBSCRIBED', 'COMPLAINED', 'SUBSCRIBED', 'PENDING', 'BOUNCED'])
  await deleteList(ctx, deleted.id)
  const after = ['NONE', 'NONE', 'SUBSCRIBED', 'UNSUBSCRIBED', 'PENDING', 'BOUNCED']
  expect(await readStatuses(ids)).toEqual(after)
  const { email } = await updateContact(ctx, ids[1] ?? newId('con'), { firstName: 'Ada' })
  expect((await upsertContact(ctx, { email, lastName: 'L' })).contact.emailSubscribedStatus).toBe('NONE')
  expect(await readStatuses(ids)).toEqual(after)
  while (await clearDeletedList(ctx, uuidOf(deleted.id))) expect(await readStatuses(ids)).toEqual(after)
  expect(await readStatuses(ids)).toEqual(after)
})

test('the deleted list of another workspace has no effect', async () => {
  const id = await createSubscribed([[await createTestList(ctx), 'CONFIRMED']])
  const other = await createTestCtx(database.db)
  const theirs = await createTestList(other)
  await addSubscribers(other, theirs.id, { count: 1 })
  await deleteList(other, theirs.id)
  expect(await readStatuses([id])).toEqual(['SUBSCRIBED'])
})

test('a change that waits for a new subscription does not overwrite its status', async () => {
  const [deleted, kept] = [await createTestList(ctx), await createTestList(ctx)]
  const id = await createSubscribed([[kept, 'PENDING']])
  await deleteList(ctx, deleted.id)
  const confirming = await openTransaction(ctx.db, (db) =>
    addSubscriber({ ...ctx, db }, kept.id, { contactId: id, status: 'CONFIRMED' }),
  )
  const updating = updateContact(ctx, id, { firstName: 'Ada' })
  await waitUntilBlocked(database.db)
  await confirming.commit()
  await updating
  while (await clearDeletedList(ctx, uuidOf(deleted.id)));
  const [row] = await ctx.db.select().from(contacts).where(eq(contacts.id, id))
  expect(row).toMatchObject({ firstName: 'Ada', emailSubscribedStatus: 'SUBSCRIBED' })
})

test('the stored status is shown when no deleted list remains', async () => {
  const id = await createSubscribed([[await createTestList(ctx), 'CONFIRMED']])
  // A wrong stored status shows that nothing was derived.
  await ctx.db.update(contacts).set({ emailSubscribedStatus: 'BOUNCED' }).where(eq(contacts.id, id))
  expect(await readStatuses([id])).toEqual(['BOUNCED'])
})
