import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Contact } from '../contacts/contacts.schema.ts'
import { type ContactId, uuidOf } from '../kernel/ids.ts'
import { mails, subscriptions } from '../db/schema/index.ts'
import {
  addSubscribers,
  createTestContact,
  createTestCtx,
  createTestList,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { transaction } from '../db/transaction.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import type { List } from './lists.schema.ts'
import { addSubscriber, listSubscribers, readSubscriber, removeSubscriber } from './subscribers.ts'
import { requestSubscription, subscribe } from './subscribe.ts'
import type { Subscription } from '../subscriptions/subscriptions.schema.ts'
import { readContact } from '../contacts/read-contact.ts'
import { deleteContact } from '../operations/delete-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let list: List
let ada: Contact
beforeEach(async () => {
  list = await createTestList(ctx)
  ada = await createTestContact(ctx, { email: 'ada@example.com' })
})

const optedOut = { code: 'conflict', message: 'They have opted out of this list, and only they can opt in again' }
const mailsOf = () => ctx.db.$count(mails, sql`workspace_id = ${uuidOf(ctx.workspaceId)}`)
const set = (status: Subscription['status']) =>
  ctx.db.insert(subscriptions).values({ workspaceId: ctx.workspaceId, listId: list.id, contactId: ada.id, status })
const add = (
  status: 'PENDING' | 'CONFIRMED',
  input: { contactId?: ContactId; email?: string } = { contactId: ada.id },
) => addSubscriber(ctx, list.id, { ...input, status })

describe('adding', () => {
  test('CONFIRMED is on the list at once, PENDING is asked by mail, and each is told', async () => {
    const { subscription, isNew } = await add('CONFIRMED')
    expect(isNew).toBe(true)
    expect(subscription).toEqual({
      contactId: ada.id,
      listId: list.id,
      status: 'CONFIRMED',
      source: 'api',
      confirmedAt: expect.any(String),
      unsubscribedAt: null,
      createdAt: expect.any(String),
    })
    expect(await readSubscriber(ctx, list.id, ada.id)).toEqual(subscription)
    expect(await mailsOf()).toBe(0)
    expect(await add('PENDING', { email: 'new@example.com' })).toMatchObject({
      isNew: true,
      subscription: { status: 'PENDING', confirmedAt: null },
    })
    expect(await mailsOf()).toBe(1)
    expect(await listEventTypes(ctx)).toEqual([
      'contact.created',
      'subscription.created',
      'subscription.confirmed',
      'contact.created',
      'subscription.created',
    ])
  })

  test('an address finds whom it belongs to, whatever its capitals', async () => {
    expect(await add('CONFIRMED', { email: 'ADA@Example.com' })).toMatchObject({
      subscription: { contactId: ada.id },
      isNew: true,
    })
  })

  test('again changes nothing but PENDING into CONFIRMED', async () => {
    await add('PENDING')
    expect(await add('PENDING')).toMatchObject({ isNew: false, subscription: { status: 'PENDING' } })
    expect(await add('CONFIRMED')).toMatchObject({ isNew: false, subscription: { status: 'CONFIRMED' } })
    const { subscription } = await add('CONFIRMED')
    expect(await add('PENDING')).toEqual({ isNew: false, subscription })
    expect(await mailsOf()).toBe(1)
    expect((await listEventTypes(ctx)).filter((type) => type === 'subscription.confirmed')).toHaveLength(1)
  })

  test.each(['UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'] as const)('who is %s stays so', async (status) => {
    await set(status)
    const before = await readSubscriber(ctx, list.id, ada.id)
    for (const requested of ['PENDING', 'CONFIRMED'] as const) {
      await expect(add(requested)).rejects.toMatchObject(optedOut)
      await expect(add(requested, { email: ada.email })).rejects.toMatchObject(optedOut)
    }
    expect(await readSubscriber(ctx, list.id, ada.id)).toEqual(before)
    expect(await mailsOf()).toBe(0)
  })

  test('who opted out and was deleted since stays out, and is not made a contact by the try', async () => {
    await set('UNSUBSCRIBED')
    await deleteContact(ctx, ada.id)
    await expect(add('CONFIRMED', { email: 'ADA@example.com' })).rejects.toMatchObject(optedOut)
    const contacts = await ctx.db.execute(sql`select from contacts where workspace_id = ${uuidOf(ctx.workspaceId)}`)
    expect(contacts.rowCount).toBe(0)
    // Another list is another matter.
    const other = await createTestList(ctx, { name: 'Other' })
    const { subscription } = await addSubscriber(ctx, other.id, { email: ada.email, status: 'CONFIRMED' })
    expect(subscription.status).toBe('CONFIRMED')
  })

  test('a contact or a list of another workspace is none', async () => {
    const otherCtx = await createTestCtx(database.db)
    const foreign = await createTestContact(otherCtx)
    await expect(add('CONFIRMED', { contactId: foreign.id })).rejects.toMatchObject({
      code: 'invalid',
      issues: [{ path: 'contactId', message: 'Contact not found' }],
    })
    await expect(
      addSubscriber(otherCtx, list.id, { contactId: foreign.id, status: 'CONFIRMED' }),
    ).rejects.toMatchObject({ code: 'not_found' })
  })

  test('twenty at once make one subscription, one of them new', async () => {
    const added = await Promise.all(
      Array.from({ length: 20 }, (_, n) => add(n % 2 ? 'CONFIRMED' : 'PENDING', { email: 'new@example.com' })),
    )
    expect(added.filter(({ isNew }) => isNew)).toHaveLength(1)
    expect((await listSubscribers(ctx, list.id, { limit: 10, sort: '-createdAt' })).data).toMatchObject([
      { status: 'CONFIRMED' },
    ])
  })
})

describe('removing', () => {
  test('leaves a record of the opt-out, tells it once, and is idempotent', async () => {
    await add('CONFIRMED')
    for (let times = 0; times < 2; times++) await removeSubscriber(ctx, list.id, ada.id)
    expect(await readSubscriber(ctx, list.id, ada.id)).toMatchObject({
      status: 'UNSUBSCRIBED',
      unsubscribedAt: expect.any(String),
    })
    expect((await readContact(ctx, ada.id)).emailSubscribedStatus).toBe('UNSUBSCRIBED')
    expect((await listEventTypes(ctx)).filter((type) => type === 'subscription.unsubscribed')).toHaveLength(1)
    await expect(add('CONFIRMED')).rejects.toMatchObject(optedOut)
  })

  test.each(['BOUNCED', 'COMPLAINED'] as const)('%s is the stricter word and stays', async (status) => {
    await set(status)
    await removeSubscriber(ctx, list.id, ada.id)
    expect(await readSubscriber(ctx, list.id, ada.id)).toMatchObject({ status })
  })

  test('who has no subscription is not found', async () => {
    const missing = { code: 'not_found', message: 'Subscription not found' }
    await expect(removeSubscriber(ctx, list.id, ada.id)).rejects.toMatchObject(missing)
    await expect(readSubscriber(ctx, list.id, ada.id)).rejects.toMatchObject(missing)
  })
})

test('subscribers are read page by page, of every status or of one, each once', async () => {
  for (const status of ['CONFIRMED', 'PENDING', 'UNSUBSCRIBED'] as const) {
    await addSubscribers(ctx, list.id, { count: 7, status, name: status.toLowerCase() })
  }
  for (const status of [undefined, 'PENDING'] as const) {
    const seen: Subscription[] = []
    let cursor: string | null | undefined
    do {
      const query = { limit: 4, sort: '-createdAt' as const, ...(status && { status }), ...(cursor && { cursor }) }
      const page = await listSubscribers(ctx, list.id, query)
      seen.push(...page.data)
      cursor = page.nextCursor
    } while (cursor)
    expect(new Set(seen.map(({ contactId }) => contactId)).size).toBe(status ? 7 : 21)
    expect(seen.every((one) => !status || one.status === status)).toBe(true)
  }
  const { nextCursor } = await listSubscribers(ctx, list.id, { limit: 1, sort: '-createdAt', status: 'PENDING' })
  const other = { limit: 1, sort: '-createdAt' as const, ...(nextCursor && { cursor: nextCursor }) }
  await expect(listSubscribers(ctx, list.id, other)).rejects.toMatchObject({ message: 'Invalid cursor' })
})

describe('asking by mail', () => {
  /** As if everything so far had been asked for that much earlier. */
  const letPass = (interval: string) =>
    ctx.db.execute(sql`update subscriptions set confirmations_requested_at =
      array(select asked - ${interval}::interval from unnest(confirmations_requested_at) with ordinality as given (asked, n) order by n)`)
  const requests: Record<string, () => Promise<unknown>> = {
    'by the public route': () => subscribe(ctx, list.id, { email: ada.email, firstName: '', lastName: '' }),
    'by a form': () =>
      transaction(ctx.db, (db) => requestSubscription({ ...ctx, db }, { list, contact: ada, source: 'form' })),
    'by the API': () => add('PENDING'),
  }
  test.each(Object.entries(requests))('%s, at most three in any day, ten minutes apart', async (_name, request) => {
    for (const [passed, sent] of [
      ['0 seconds', 1],
      ['9 minutes 58 seconds', 1],
      ['3 seconds', 2],
      ['11 minutes', 3],
      ['11 minutes', 3],
      ['20 hours', 3],
      // A day after the first, not after the last: one more, and then one a day after the second.
      ['3 hours 40 minutes', 4],
      ['11 minutes', 5],
      ['5 minutes', 5],
      ['6 minutes', 6],
      ['11 minutes', 6],
    ] as const) {
      await letPass(passed)
      await request()
      expect([passed, await mailsOf()]).toEqual([passed, sent])
    }
  })

  test('the three are counted over all ways to ask', async () => {
    for (const request of [...Object.values(requests), ...Object.values(requests)]) {
      await request()
      await letPass('11 minutes')
    }
    expect(await mailsOf()).toBe(3)
  })
})
