/** A person who is CONFIRMED on two lists: what most tests of consent start with, and look at. */
import type { Contact, ContactInput } from '@rapport/core/contacts/contacts.schema.ts'
import type { ContactId } from '@rapport/core/kernel/ids.ts'
import type { List } from '@rapport/core/lists/lists.schema.ts'
import { unsubscribeUrl } from '@rapport/core/lists/subscription-links.ts'
import { addSubscriber, readSubscriber } from '@rapport/core/lists/subscribers.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { createTestContact, createTestList, listEventTypes } from '../fixtures/factories.ts'

export interface TestSubscriber {
  list: List
  other: List
  ada: Contact
}

/** Creates the lists A and B, and ada@example.com, who is CONFIRMED on both. */
export async function createTestSubscriber(ctx: Ctx, overrides: Partial<ContactInput> = {}): Promise<TestSubscriber> {
  const list = await createTestList(ctx, { name: 'A' })
  const other = await createTestList(ctx, { name: 'B' })
  const ada = await createTestContact(ctx, { email: 'ada@example.com', ...overrides })
  for (const on of [list, other]) await confirmOn(ctx, on, ada)
  return { list, other, ada }
}

/** By the word of a caller. */
export const confirmOn = (ctx: Ctx, list: List, { id: contactId }: { id: ContactId }) =>
  addSubscriber(ctx, list.id, { contactId, status: 'CONFIRMED' })

export const readStatusesOn = (ctx: Ctx, lists: readonly List[], { id }: { id: ContactId }) =>
  Promise.all(lists.map(async (list) => (await readSubscriber(ctx, list.id, id)).status))

/** How many subscriptions have ended, by their events. */
export const countEnded = async (ctx: Ctx): Promise<number> =>
  (await listEventTypes(ctx)).filter((type) => type === 'subscription.unsubscribed').length

/** The token of the unsubscribe link in an email of the list. */
export const unsubscribeTokenOf = (ctx: Ctx, list: List, { id: contactId, email }: Pick<Contact, 'id' | 'email'>) =>
  tokenIn(unsubscribeUrl(ctx, { listId: list.id, contactId, email }))

export const tokenIn = (url: string): string => new URL(url).searchParams.get('token') ?? ''
