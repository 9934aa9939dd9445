import { createTestContact, createTestCtx, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { expect, test } from 'vitest'
import { newId } from '../kernel/ids.ts'
import { readContact } from './read-contact.ts'
import { changeTags } from './update-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

test('adds and removes tags of several contacts, with an event for each changed one', async () => {
  const ada = await createTestContact(ctx, { tags: ['lead', 'vip'] })
  const bob = await createTestContact(ctx, { tags: ['customer'] })
  const change = { contactIds: [bob.id, ada.id], add: ['customer'], remove: ['lead', 'missing'] }
  const changed = await changeTags(ctx, change)
  expect(changed.map(({ id, tags }) => [id, tags])).toEqual([
    [bob.id, ['customer']],
    [ada.id, ['vip', 'customer']],
  ])
  expect(await changeTags(ctx, change)).toEqual(changed)
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'contact.created', 'contact.updated'])
})

test('an unknown contact, one of another workspace, or 101 tags change no contact', async () => {
  const ada = await createTestContact(ctx, { tags: [] })
  const foreign = await createTestContact(await createTestCtx(database.db))
  const full = await createTestContact(ctx, { tags: Array.from({ length: 100 }, (_, n) => `tag ${n}`) })
  for (const [id, issue] of [
    [newId('con'), { path: 'contactIds.1', message: 'Contact not found' }],
    [foreign.id, { path: 'contactIds.1', message: 'Contact not found' }],
    [full.id, { path: 'tags', message: 'a contact can have at most 100 tags' }],
  ] as const) {
    const change = { contactIds: [ada.id, id], add: ['new'], remove: [] }
    await expect(changeTags(ctx, change)).rejects.toMatchObject({ issues: [issue] })
  }
  expect(await readContact(ctx, ada.id)).toEqual(ada)
})

test('concurrent changes of the same contacts in opposite order lose no tag', async () => {
  const contacts = await Promise.all(Array.from({ length: 5 }, () => createTestContact(ctx)))
  const ids = contacts.map(({ id }) => id)
  await Promise.all(
    Array.from({ length: 8 }, (_, n) =>
      changeTags(ctx, { contactIds: n % 2 ? ids : ids.toReversed(), add: [`tag ${n}`], remove: [] }),
    ),
  )
  for (const id of ids) expect((await readContact(ctx, id)).tags).toHaveLength(8)
})
