/** Deleting and merging a contact handles every table explicitly, never by a silent cascade. */
import { fillEmptyTables } from '@rapport/testing/fixtures/sample-rows.ts'
import { getTableName, is, sql, Table } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestEmail, createTestTemplate } from '@rapport/testing/consent/test-emails.ts'
import { createTestDatabase, type TestDatabase } from '@rapport/testing/postgres/database.ts'
import {
  createTestContact,
  createTestCtx,
  createTestDeal,
  createTestForm,
  createTestList,
  createTestNote,
  createTestTask,
} from '@rapport/testing/fixtures/factories.ts'
import * as schema from '../../db/schema/index.ts'
import { submitForm } from '../../forms/submissions.ts'
import { type ContactId, uuidOf } from '../../kernel/ids.ts'
import { addSubscriber } from '../../lists/subscribers.ts'
import type { Ctx } from '../../request/context.ts'
import { contactRecords } from './contact-records.ts'
import { deleteContact } from './delete-contact.ts'
import { mergeContacts } from './merge-contacts.ts'

/** Tables whose rows are deleted with their contact, and move to the other contact in a merge. */
const owned = Object.entries(schema)
  .flatMap(([name, table]) => (name in contactRecords && is(table, Table) ? [getTableName(table)] : []))
  .toSorted()
/** Tables whose rows remain after the deletion of their contact. */
const outliving = ['campaign_batches', 'campaign_recipients', 'erasures', 'events', 'suppressions', 'visitor_mails']

let database: TestDatabase
let ctx: Ctx
beforeAll(async () => {
  database = await createTestDatabase()
  await removeCascades()
})
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})
afterAll(() => database.close())

test('every table with a contact id is owned by the contact or outlives it', async () => {
  const { rows } = await database.db.execute<{ name: string }>(sql`
    select c.relname as name from pg_attribute a join pg_class c on c.oid = a.attrelid
    where a.attname in ('contact_id', 'contact_ids') and c.relkind in ('r', 'p') and not c.relispartition
      and c.relnamespace = 'public'::regnamespace
    order by name`)
  expect(rows.map(({ name }) => name)).toEqual([...owned, ...outliving].toSorted())
})

test('deleting a contact deletes what it owns, without a cascade', async () => {
  const id = await createContactWithRecords('ada@example.com')
  expect(await countOwned(id)).toEqual(owned.map((table) => [table, 1]))
  await deleteContact(ctx, id)
  expect(await countOwned(id)).toEqual(owned.map((table) => [table, 0]))
})

test('merging a contact moves what it owns, without a cascade', async () => {
  const duplicate = await createContactWithRecords('ada@example.com')
  const { id: survivor } = await createTestContact(ctx)
  await mergeContacts(ctx, survivor, { contactId: duplicate })
  expect(await countOwned(duplicate)).toEqual(owned.map((table) => [table, 0]))
  // The merge adds the alias of the duplicate to the existing alias.
  expect(await countOwned(survivor)).toEqual(owned.map((table) => [table, table === 'contact_aliases' ? 2 : 1]))
})

/** Creates a contact with one row in every table that it owns. */
async function createContactWithRecords(email: string): Promise<ContactId> {
  const { id: merged } = await createTestContact(ctx)
  const { id } = await createTestContact(ctx, { email })
  await mergeContacts(ctx, id, { contactId: merged })
  await createTestDeal(ctx, { contactId: id })
  await createTestTask(ctx, { contactId: id })
  await createTestNote(ctx, { contactId: id })
  const list = await createTestList(ctx)
  await addSubscriber(ctx, list.id, { contactId: id, status: 'CONFIRMED' })
  const form = await createTestForm(ctx)
  await submitForm(ctx, form.id, { values: { email } })
  await createTestEmail(ctx, (await createTestTemplate(ctx)).id, { to: { contactId: id } })
  await fillEmptyTables(ctx, owned, id)
  return id
}

/** Counts the rows of a contact per table. */
async function countOwned(contactId: ContactId): Promise<[string, number][]> {
  const counts: [string, number][] = []
  for (const table of owned) {
    const { rows } = await database.db.execute<{ count: number }>(sql`
      select count(*)::int as count from ${sql.identifier(table)} where contact_id = ${uuidOf(contactId)}`)
    counts.push([table, rows[0]?.count ?? 0])
  }
  return counts
}

/** Removes the cascades of this database: deleting a contact fails while a row still references it. */
async function removeCascades(): Promise<void> {
  const { rows } = await database.db.execute<{ table: string; name: string; definition: string }>(sql`
    select conrelid::regclass::text as table, conname as name, pg_get_constraintdef(oid) as definition
    from pg_constraint where confrelid = 'contacts'::regclass and contype = 'f'`)
  // A closed deal outlives its contact, so `deals` has no foreign key.
  expect(rows.length).toBeGreaterThanOrEqual(owned.length - 1)
  for (const { table, name, definition } of rows) {
    const strict = definition.replace('ON DELETE CASCADE', '')
    await database.db.execute(sql.raw(`alter table ${table} drop constraint ${name}`))
    await database.db.execute(sql.raw(`alter table ${table} add constraint ${name} ${strict}`))
  }
}
