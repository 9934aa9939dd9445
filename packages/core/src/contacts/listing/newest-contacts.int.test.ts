import { expect, test } from 'vitest'
import { createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type Contact } from '../contacts.schema.ts'
import { ContactQuery } from './contact-query.schema.ts'
import { createCustomField } from '../../custom-fields/custom-fields.ts'
import { listContacts } from './list-contacts.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

async function readPages(query: Record<string, string>): Promise<Contact[]> {
  const page = await listContacts(ctx, ContactQuery.parse(query))
  if (page.nextCursor === null) return page.data
  return [...page.data, ...(await readPages({ ...query, cursor: page.nextCursor }))]
}

test('an unfiltered listing equals a listing whose filter matches all contacts', async () => {
  await createCustomField(ctx, { key: 'note', label: 'Note', type: 'TEXT', options: [] })
  await createTestContact(ctx, {
    phone: '+1',
    tags: ['a,b', '"'],
    customFieldValues: { note: '\u2028 🙂' },
    source: 'x',
  })
  for (let count = 0; count < 6; count += 1) await createTestContact(ctx)
  await createTestContact(await createTestCtx(database.db))
  const filtered = await readPages({ limit: '2', createdAfter: '2000-01-01T00:00:00Z' })
  expect(filtered).toHaveLength(7)
  expect(await readPages({ limit: '2' })).toEqual(filtered)
})
