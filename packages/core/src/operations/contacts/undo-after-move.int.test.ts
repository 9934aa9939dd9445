/** An operator's opt-out holds for both addresses of a person who gets another one, so an undo subscribes neither. */
import { createTestContact, createTestList, listEventTypes } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import type { List } from '../../lists/lists.schema.ts'
import { addSubscriber, readSubscriber } from '../../lists/subscribers.ts'
import { updateWorkspace } from '../../workspaces/update-workspace.ts'
import { mergeContacts } from './merge-contacts.ts'
import { optOutContact, undoOptOut } from './opt-out-contact.ts'

const ctx = useTestCtx(useTestDatabase())
let list: List
let ada: Contact
beforeEach(async () => {
  list = await createTestList(ctx)
  ada = await createTestContact(ctx)
  await addSubscriber(ctx, list.id, { contactId: ada.id, status: 'CONFIRMED' })
})

const next = 'next@example.com'
const move = (email: string) => updateContact(ctx, ada.id, { email })
const ways: Record<string, () => Promise<Contact['id']>> = {
  'a change of address': async () => (await move(next)).id,
  'a change back': async () => (await move(next)) && (await move(ada.email)).id,
  'a merge': async () => {
    const { id } = await createTestContact(ctx)
    return (await mergeContacts(ctx, id, { contactId: ada.id })).id
  },
}

describe.each([false, true])('with confirmChangedAddress %s', (confirmChangedAddress) => {
  beforeEach(() => updateWorkspace(ctx, { confirmChangedAddress }))

  test.each(Object.keys(ways))('the undo for one list is refused after %s', async (way) => {
    await optOutContact(ctx, ada.id, { listId: list.id })
    const id = (await ways[way]?.()) ?? ada.id
    const before = await listEventTypes(ctx)
    await expect(undoOptOut(ctx, id, { listId: list.id })).rejects.toMatchObject({ code: 'opted_out' })
    expect((await readSubscriber(ctx, list.id, id)).status).toBe('UNSUBSCRIBED')
    expect(await listEventTypes(ctx)).toEqual(before)
  })

  test.each(Object.keys(ways))('the undo for all lists is refused after %s', async (way) => {
    await optOutContact(ctx, ada.id, {})
    const id = (await ways[way]?.()) ?? ada.id
    const before = await listEventTypes(ctx)
    await expect(undoOptOut(ctx, id, {})).rejects.toMatchObject({ code: 'opted_out' })
    expect((await readSubscriber(ctx, list.id, id)).status).toBe('UNSUBSCRIBED')
    expect(await listEventTypes(ctx)).toEqual(before)
  })
})
