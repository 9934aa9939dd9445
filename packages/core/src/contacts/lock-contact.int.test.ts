import { sql } from 'drizzle-orm'
import { expect, onTestFinished, test } from 'vitest'
import { inTransaction } from '../request/context.ts'
import { updateDeal } from '../deals/update-deal.ts'
import { uuidOf } from '../kernel/ids.ts'
import { clearDeletedList, deleteList } from '../lists/delete-list.ts'
import { confirmSubscribers } from '@rapport/testing/consent/confirm-subscribers.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  createTestContact,
  createTestDeal,
  createTestList,
  createTestPipeline,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { writeContactBatch } from './batch/write-contact-batch.ts'
import { mergePolicies } from './merge-contact.ts'
import { writeContacts } from './write-contacts.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import type { Contact } from './contacts.schema.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

interface Pair {
  zoe: Contact
  ada: Contact
}

/** Each entry prepares its data and returns the operation that locks both contacts. */
const operations: Record<string, (pair: Pair) => Promise<() => Promise<unknown>>> = {
  'a merge':
    async ({ zoe, ada }) =>
    () =>
      mergeContacts(ctx, ada.id, { contactId: zoe.id }),
  'a deal that moves to another contact': async ({ zoe, ada }) => {
    const deal = await createTestDeal(ctx, { contactId: ada.id })
    return () => updateDeal(ctx, deal.id, { contactId: zoe.id })
  },
  'concurrently created deals': async ({ zoe, ada }) => {
    const { id: pipelineId } = await createTestPipeline(ctx)
    const other = await createTestContact(ctx)
    return () =>
      Promise.all([other, ada, zoe].map(({ id: contactId }) => createTestDeal(ctx, { pipelineId, contactId })))
  },
  'an import': async ({ zoe, ada }) => {
    const people = [ada, zoe].map(({ email }) => ({ email, firstName: 'Changed' }))
    const options = { onExisting: mergePolicies.import, emitsEvents: false }
    return () => inTransaction(ctx, (ctx) => writeContacts(ctx, people, options))
  },
  'a batch':
    async ({ zoe, ada }) =>
    () => {
      const people = [ada, zoe].map(({ email }) => ({ email, firstName: 'Changed' }))
      return writeContactBatch(ctx, { contacts: people, onConflict: 'update' }, () => {})
    },
  'the deletion of a list': async ({ zoe, ada }) => {
    const list = await createTestList(ctx)
    await inTransaction(ctx, (ctx) => confirmSubscribers(ctx, { listId: list.id, contacts: [ada, zoe] }))
    await deleteList(ctx, list.id)
    return () => clearDeletedList(ctx, uuidOf(list.id))
  },
}

test.each(Object.keys(operations))(
  'locks contacts in order of their ids, which prevents deadlocks: %s',
  async (name) => {
    // The reverse of the order by email.
    const zoe = await createTestContact(ctx, { email: 'Zoe@example.com' })
    const ada = await createTestContact(ctx, { email: 'ada@example.com' })
    const run = await operations[name]?.({ zoe, ada })
    const lock = (contact: Contact) => sql`
      select from contacts where workspace_id = ${uuidOf(ctx.workspaceId)} and id = ${uuidOf(contact.id)}
      for update skip locked`
    const blocker = await openTransaction(ctx.db, (db) => db.execute(lock(zoe)))
    onTestFinished(() => blocker.commit())
    const running = run?.()
    await waitUntilBlocked(database.db)
    expect((await database.db.execute(lock(ada))).rowCount).toBe(1)
    await blocker.commit()
    await running
  },
)
