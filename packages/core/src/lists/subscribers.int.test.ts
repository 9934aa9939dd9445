import { subscriptionRow } from '@rapport/testing/consent/confirm-subscribers.ts'
import { backdate } from '@rapport/testing/postgres/backdate.ts'
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
import { inTransaction } from '../request/context.ts'
import { lockContact } from '../contacts/lock-contact.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import type { List } from './lists.schema.ts'
import { addSubscriber, listSubscribers, readSubscriber, removeSubscriber } from './subscribers.ts'
import { requestSubscription, subscribe } from './subscribe.ts'
import type { Subscription } from '../consent/subscriptions.schema.ts'
import { readContact } from '../contacts/read-contact.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { liftSuppression } from '../suppressions/lift-suppression.ts'
import { suppress } from '../suppressions/suppress.ts'
import { createSuppression } from '../suppressions/suppressions.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let list: List
let ada: Contact
beforeEach(async () => {
  list = await createTestList(ctx)
  ada = await createTestContact(ctx, { email: 'ada@example.com' })
})

const optedOut = { code: 'opted_out', message: 'Contact has opted out of this list; only the contact can opt in again' }
const bounced = { ...optedOut, message: 'The address is suppressed (BOUNCED): an admin can lift the suppression' }
const mailsOf = () => ctx.db.$count(mails, sql`workspace_id = ${uuidOf(ctx.workspaceId)}`)
const set = (status: Subscription['status']) =>
  ctx.db.insert(subscriptions).values(subscriptionRow(ctx, { listId: list.id, contactId: ada.id }, status))
const add = (
  status: 'PENDING' | 'CONFIRMED',
  input: { contactId?: ContactId; email?: string } = { contactId: ada.id },
) => addSubscriber(ctx, list.id, { ...input, status })

describe('adding a subscriber', () => {
  test('CONFIRMED subscribes immediately, PENDING sends an email, both emit events', async () => {
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

  test('finds a contact by email, ignoring case', async () => {
    expect(await add('CONFIRMED', { email: 'ADA@Example.com' })).toMatchObject({
      subscription: { contactId: ada.id },
      isNew: true,
    })
  })

  test('repeated calls only change PENDING to CONFIRMED', async () => {
    await add('PENDING')
    expect(await add('PENDING')).toMatchObject({ isNew: false, subscription: { status: 'PENDING' } })
    expect(await add('CONFIRMED')).toMatchObject({ isNew: false, subscription: { status: 'CONFIRMED' } })
    const { subscription } = await add('CONFIRMED')
    expect(await add('PENDING')).toEqual({ isNew: false, subscription })
    expect(await mailsOf()).toBe(1)
    expect((await listEventTypes(ctx)).filter((type) => type === 'subscription.confirmed')).toHaveLength(1)
  })

  test.each(['UNSUBSCRIBED', 'BOUNCED', 'COMPLAINED'] as const)('rejects a contact that is %s', async (status) => {
    await set(status)
    if (status === 'BOUNCED')
      await suppress(ctx, [{ email: ada.email, reason: status, source: 'MAIL_EVENT' }], { emitsEvents: false })
    const before = await readSubscriber(ctx, list.id, ada.id)
    const expected = status === 'BOUNCED' ? bounced : optedOut
    for (const requested of ['PENDING', 'CONFIRMED'] as const) {
      await expect(add(requested)).rejects.toMatchObject(expected)
      await expect(add(requested, { email: ada.email })).rejects.toMatchObject(expected)
    }
    expect(await readSubscriber(ctx, list.id, ada.id)).toEqual(before)
    expect(await mailsOf()).toBe(0)
  })

  test('tells a bounce whose suppression is lost for every list, until one is lifted', async () => {
    await set('BOUNCED')
    const other = await createTestList(ctx, { name: 'Other' })
    for (const { id } of [list, other])
      await expect(addSubscriber(ctx, id, { contactId: ada.id, status: 'CONFIRMED' })).rejects.toMatchObject(bounced)
    const { suppression } = await createSuppression(ctx, { email: ada.email, reason: 'BOUNCED' })
    await liftSuppression(ctx, suppression.id, { note: 'It receives again' })
    expect(await readSubscriber(ctx, list.id, ada.id)).toMatchObject({ status: 'CONFIRMED' })
    for (const { id } of [list, other]) await addSubscriber(ctx, id, { contactId: ada.id, status: 'CONFIRMED' })
  })

  test('rejects the email of a deleted opt-out without creating a contact', async () => {
    await set('UNSUBSCRIBED')
    await deleteContact(ctx, ada.id)
    await expect(add('CONFIRMED', { email: 'ADA@example.com' })).rejects.toMatchObject(optedOut)
    const contacts = await ctx.db.execute(sql`select from contacts where workspace_id = ${uuidOf(ctx.workspaceId)}`)
    expect(contacts.rowCount).toBe(0)
    // The opt-out does not apply to other lists.
    const other = await createTestList(ctx, { name: 'Other' })
    const { subscription } = await addSubscriber(ctx, other.id, { email: ada.email, status: 'CONFIRMED' })
    expect(subscription.status).toBe('CONFIRMED')
  })

  test('rejects a contact or list of another workspace', async () => {
    const otherCtx = await createTestCtx(database.db)
    const foreign = await createTestContact(otherCtx)
    await expect(add('CONFIRMED', { contactId: foreign.id })).rejects.toMatchObject({
      code: 'validation_error',
      issues: [{ path: 'contactId', message: 'Contact not found' }],
    })
    await expect(
      addSubscriber(otherCtx, list.id, { contactId: foreign.id, status: 'CONFIRMED' }),
    ).rejects.toMatchObject({ code: 'not_found' })
  })

  test('twenty concurrent calls create one subscription', async () => {
    const added = await Promise.all(
      Array.from({ length: 20 }, (_, n) => add(n % 2 ? 'CONFIRMED' : 'PENDING', { email: 'new@example.com' })),
    )
    expect(added.filter(({ isNew }) => isNew)).toHaveLength(1)
    expect((await listSubscribers(ctx, list.id, { limit: 10, sort: '-createdAt' })).data).toMatchObject([
      { status: 'CONFIRMED' },
    ])
  })
})

describe('removing a subscriber', () => {
  test('sets UNSUBSCRIBED, emits one event, and is idempotent', async () => {
    await add('CONFIRMED')
    for (let times = 0; times < 2; times++) await removeSubscriber(ctx, list.id, ada.id)
    expect(await readSubscriber(ctx, list.id, ada.id)).toMatchObject({
      status: 'UNSUBSCRIBED',
      unsubscribedAt: expect.any(String),
    })
    expect((await readContact(ctx, ada.id)).emailSubscribedStatus).toBe('UNSUBSCRIBED')
    expect((await listEventTypes(ctx)).filter((type) => type === 'subscription.unsubscribed')).toHaveLength(1)
  })

  test.each([
    ['BOUNCED', 'UNSUBSCRIBED'],
    ['COMPLAINED', 'COMPLAINED'],
  ] as const)('of one that is %s results in %s', async (status, result) => {
    await set(status)
    await removeSubscriber(ctx, list.id, ada.id)
    expect(await readSubscriber(ctx, list.id, ada.id)).toMatchObject({ status: result })
  })

  test('rejects a contact without a subscription with not_found', async () => {
    const missing = { code: 'not_found', message: 'Subscription not found' }
    await expect(removeSubscriber(ctx, list.id, ada.id)).rejects.toMatchObject(missing)
    await expect(readSubscriber(ctx, list.id, ada.id)).rejects.toMatchObject(missing)
  })
})

test('pages through subscribers, of all statuses or of one', async () => {
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
  await expect(listSubscribers(ctx, list.id, other)).rejects.toMatchObject({
    message: 'Invalid cursor',
  })
})

describe('confirmation emails', () => {
  /** Moves all requested confirmations into the past. */
  const letPass = (interval: string) =>
    ctx.db.execute(sql`update mail_requests set ${backdate('created_at', interval)}`)
  const requests: Record<string, () => Promise<unknown>> = {
    'the public route': () => subscribe(ctx, list.id, { email: ada.email, firstName: '', lastName: '' }),
    'a form': () =>
      inTransaction(ctx, async (ctx) => {
        await lockContact(ctx, ada.id)
        return requestSubscription(ctx, {
          listId: list.id,
          contact: ada,
          source: 'form',
          consent: { method: 'FORM' },
        })
      }),
    'the API': () => add('PENDING'),
  }
  test.each(Object.entries(requests))(
    '%s sends at most one in ten minutes and three in 24 hours',
    async (_name, request) => {
      for (const [passed, sent] of [
        ['0 seconds', 1],
        ['9 minutes 58 seconds', 1],
        ['3 seconds', 2],
        ['11 minutes', 3],
        ['11 minutes', 3],
        ['20 hours', 3],
        // The limit is a sliding window: a day after the first email one more is sent, a day after the second another.
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
    },
  )

  test('all sources share one limit', async () => {
    for (const request of [...Object.values(requests), ...Object.values(requests)]) {
      await request()
      await letPass('11 minutes')
    }
    expect(await mailsOf()).toBe(3)
  })
})
