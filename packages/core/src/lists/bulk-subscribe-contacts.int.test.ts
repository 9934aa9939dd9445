import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { listContacts } from '../contacts/listing/list-contacts.ts'
import { ContactQuery } from '../contacts/listing/contact-query.schema.ts'
import { type ListId, newId, uuidOf } from '../kernel/ids.ts'
import { ImportOptions } from '../imports/imports.schema.ts'
import {
  addSubscribers,
  createTestContact,
  createTestCtx,
  createTestList,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { suppress } from '../suppressions/suppress.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test('confirms all contacts of the file except opt-outs, even of deleted contacts', async () => {
  const list = await createTestList(ctx)
  const other = await createTestList(ctx)
  const statuses = ['PENDING', 'CONFIRMED', 'UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'] as const
  for (const status of statuses) {
    await addSubscribers(ctx, list.id, { count: 1, status, name: status.toLowerCase() })
    const [deleted = newId('con')] = await addSubscribers(ctx, list.id, {
      count: 1,
      status,
      name: `deleted-${status.toLowerCase()}`,
    })
    if (status === 'BOUNCED')
      for (const name of ['bounced-1', 'deleted-bounced-1'])
        await suppress(ctx, [{ email: `${name}@example.com`, reason: status, source: 'MAIL_EVENT' }], {
          emitsEvents: false,
        })
    await deleteContact(ctx, deleted)
  }
  await addSubscribers(ctx, other.id, { count: 1, status: 'UNSUBSCRIBED', name: 'elsewhere' })
  await createTestContact(ctx, { email: 'known@example.com' })
  const names = statuses.flatMap((status) => [`${status}-1`, `DELETED-${status}-1`])
  const emails = [...names, 'elsewhere-1', 'known', 'new', 'new'].map((name) => `${name}@example.com`)
  for (const onConflict of ['skip', 'update']) {
    await runTestImport(ctx, `email\n${emails.join('\n')}`, { listId: list.id, onConflict })
    expect(await subscriptionsOf(list.id)).toEqual({
      'pending-1': 'CONFIRMED',
      'confirmed-1': 'CONFIRMED',
      'unsubscribed-1': 'UNSUBSCRIBED',
      'bounced-1': 'BOUNCED',
      'complained-1': 'COMPLAINED',
      // These contacts had not opted out before they were deleted.
      'deleted-pending-1': 'CONFIRMED',
      'deleted-confirmed-1': 'CONFIRMED',
      'elsewhere-1': 'CONFIRMED',
      known: 'CONFIRMED',
      new: 'CONFIRMED',
    })
    const contactStatuses = Object.fromEntries(
      (await listContacts(ctx, ContactQuery.parse({}))).data.map((contact) => [
        contact.email,
        contact.emailSubscribedStatus,
      ]),
    )
    expect(contactStatuses).toMatchObject({
      'pending-1@example.com': 'SUBSCRIBED',
      'unsubscribed-1@example.com': 'UNSUBSCRIBED',
      'complained-1@example.com': 'COMPLAINED',
      'DELETED-BOUNCED-1@example.com': 'BOUNCED',
      'new@example.com': 'SUBSCRIBED',
    })
  }
  expect(await listEventTypes(ctx)).not.toContain('subscription.confirmed')
})

test('rejects a list of another workspace, and a list without consent', async () => {
  const other = await createTestCtx(database.db)
  const list = await createTestList(other)
  await expect(runTestImport(ctx, 'email\n', { listId: list.id })).rejects.toMatchObject({
    code: 'validation_error',
    issues: [{ path: 'listId', message: 'List not found' }],
  })
  expect(ImportOptions.safeParse({ listId: list.id }).error?.issues).toMatchObject([{ path: ['consent'] }])
})

async function subscriptionsOf(listId: ListId): Promise<Record<string, string>> {
  const result = await database.db.execute<{ email: string; status: string }>(sql`
    select lower(email) as email, status from subscriptions join contacts using (workspace_id)
    where contacts.id = contact_id and list_id = ${uuidOf(listId)}`)
  return Object.fromEntries(result.rows.map((row) => [row.email.replace('@example.com', ''), row.status]))
}
