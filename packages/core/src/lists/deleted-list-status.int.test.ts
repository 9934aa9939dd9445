/** The status of contacts after the deletion of one of their lists. */
import { subscriptionRow } from '@rapport/testing/consent/confirm-subscribers.ts'
import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { readContact } from '../contacts/read-contact.ts'
import { updateContact } from '../contacts/update-contact.ts'
import { contacts, subscriptions } from '../db/schema/index.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import { recordSubscriptionActivity } from '../consent/subscribed-status.ts'
import { createTestContact, createTestList } from '@rapport/testing/fixtures/factories.ts'
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
    await ctx.db.insert(subscriptions).values(subscriptionRow(ctx, { listId, contactId: id }, status))
  if (lists.length > 0) await recordSubscriptionActivity(ctx, [id])
  return id
}

const readStatuses = (ids: readonly ContactId[]) =>
  Promise.all(ids.map(async (id) => (await readContact(ctx, id)).emailSubscribedStatus))

test('after a deleted list is cleared, a contact has the status of its other lists', async () => {
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
  while (await clearDeletedList(ctx, uuidOf(deleted.id)));
  // A complaint is for all lists.
  expect(await readStatuses(ids)).toEqual(['NONE', 'NONE', 'COMPLAINED', 'UNSUBSCRIBED', 'PENDING', 'BOUNCED'])
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
