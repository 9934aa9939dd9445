import { subscriptionRow } from '@rapport/testing/consent/confirm-subscribers.ts'
import { backdate } from '@rapport/testing/postgres/backdate.ts'
import { and, eq, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Contact } from '../contacts/contacts.schema.ts'
import { type Mail } from '../mail/mails.ts'
import { renderMail } from '../operations/mail/render-mail.ts'
import { contacts, lists, mails, subscriptions } from '../db/schema/index.ts'
import { newId, uuidOf } from '../kernel/ids.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  createTestContact,
  createTestForm,
  createTestList,
  listEventTypes,
  listPendingWork,
} from '@rapport/testing/fixtures/factories.ts'
import { claimTestMail } from '@rapport/testing/fixtures/claims.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { unsubscribeUrl } from './subscription-links.ts'
import type { List } from './lists.schema.ts'
import { readList, updateList } from './lists.ts'
import { confirmSubscription, subscribe } from './subscribe.ts'
import { addSubscriber } from './subscribers.ts'
import { submitForm } from '../forms/submissions.ts'
import type { Subscription } from '../consent/subscriptions.schema.ts'
import { unsubscribe } from '../operations/contacts/unsubscribe.ts'
import { readContact } from '../contacts/read-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let list: List
beforeEach(async () => {
  list = await createTestList(ctx)
})

const ada = { email: 'ada@example.com', firstName: '', lastName: '' }
const invalidLink = { code: 'invalid_token', message: 'Invalid or expired link' }

async function findAda(): Promise<Contact> {
  const [row] = await ctx.db
    .select({ id: contacts.id })
    .from(contacts)
    .where(and(eq(contacts.workspaceId, ctx.workspaceId), eq(contacts.email, ada.email)))
  return readContact(ctx, row?.id ?? newId('con'))
}

async function readSubscription(on = list) {
  const { id } = await findAda()
  const [row] = await ctx.db
    .select()
    .from(subscriptions)
    .where(and(eq(subscriptions.listId, on.id), eq(subscriptions.contactId, id)))
  return row
}

function mailsOf(): Promise<Mail[]> {
  return ctx.db.select().from(mails).where(eq(mails.workspaceId, ctx.workspaceId)).orderBy(mails.createdAt)
}

/** The token in the newest confirmation mail. */
async function confirmToken(): Promise<string> {
  const mail = (await mailsOf()).at(-1)
  if (!mail) throw new Error('No mail found')
  const rendered = await renderMail(ctx, mail)
  const token = /confirm\?token=([\w.-]+)/.exec(rendered?.text ?? '')?.[1]
  if (!token) throw new Error('The mail has no link')
  return token
}

async function unsubscribeToken(on = list): Promise<string> {
  const url = unsubscribeUrl(ctx, { listId: on.id, contactId: (await findAda()).id, email: ada.email })
  return new URL(url).searchParams.get('token') ?? ''
}

/** Moves all timestamps into the past. */
async function letPass(interval: string) {
  const columns = ['created_at', 'confirmed_at', 'unsubscribed_at', 'own_status_at'].map((column) =>
    backdate(column, interval),
  )
  await ctx.db.execute(sql`update subscriptions set ${sql.join(columns, sql`, `)}
    where workspace_id = ${uuidOf(ctx.workspaceId)}`)
  for (const table of ['mails', 'mail_requests'])
    await ctx.db.execute(sql`update ${sql.identifier(table)} set ${backdate('created_at', interval)}
      where workspace_id = ${uuidOf(ctx.workspaceId)}`)
}

async function optOut() {
  await unsubscribe(ctx, await unsubscribeToken())
}

describe('a list with double opt-in', () => {
  test('a visitor is PENDING until the emailed link is used, then CONFIRMED', async () => {
    await subscribe(ctx, list.id, { ...ada, firstName: 'Ada' })
    expect(await readSubscription()).toMatchObject({ status: 'PENDING', source: 'public', confirmedAt: null })
    expect(await findAda()).toMatchObject({
      firstName: 'Ada',
      emailSubscribedStatus: 'PENDING',
      source: 'subscription',
    })
    expect(await mailsOf()).toMatchObject([{ kind: 'CONFIRMATION', toAddress: ada.email, status: 'PENDING' }])
    expect(await listPendingWork(ctx)).toHaveLength(1)

    await confirmSubscription(ctx, await confirmToken())
    expect(await readSubscription()).toMatchObject({ status: 'CONFIRMED', confirmedAt: expect.any(String) })
    expect(await findAda()).toMatchObject({ emailSubscribedStatus: 'SUBSCRIBED', lastActivityAt: expect.any(String) })
    expect((await readList(ctx, list.id)).confirmedCount).toBe(1)
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'subscription.created', 'subscription.confirmed'])
  })

  test.each<[Subscription['status'], number]>([
    ['PENDING', 1],
    ['CONFIRMED', 0],
    ['UNSUBSCRIBED', 1],
    ['COMPLAINED', 1],
  ])('a %s contact gets the same response and keeps its status', async (status, mailCount) => {
    const { id } = await createTestContact(ctx, ada)
    await ctx.db.insert(subscriptions).values(subscriptionRow(ctx, { listId: list.id, contactId: id }, status))
    expect(await subscribe(ctx, list.id, ada)).toBeUndefined()
    expect(await readSubscription()).toMatchObject({ status })
    expect(await mailsOf()).toHaveLength(mailCount)
    expect(await listEventTypes(ctx)).toEqual(['contact.created'])
  })

  test('sends at most one email in ten minutes', async () => {
    for (const email of [ada.email, 'ADA@Example.com', ada.email]) await subscribe(ctx, list.id, { ...ada, email })
    await letPass('9 minutes 58 seconds')
    await subscribe(ctx, list.id, ada)
    expect(await mailsOf()).toHaveLength(1)
    await letPass('3 seconds')
    await subscribe(ctx, list.id, ada)
    expect(await mailsOf()).toHaveLength(2)
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'subscription.created'])
  })

  test('twenty concurrent requests create one contact, subscription and email', async () => {
    await Promise.all(Array.from({ length: 20 }, () => subscribe(ctx, list.id, ada)))
    expect(await mailsOf()).toHaveLength(1)
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'subscription.created'])
  })

  test('limits emails per list', async () => {
    await subscribe(ctx, list.id, ada)
    await subscribe(ctx, (await createTestList(ctx)).id, ada)
    expect(await mailsOf()).toHaveLength(2)
  })
})

describe('a list without double opt-in', () => {
  beforeEach(async () => {
    list = await createTestList(ctx, { doubleOptIn: false })
  })

  test('a visitor is asked by email all the same', async () => {
    await subscribe(ctx, list.id, ada)
    await subscribe(ctx, list.id, ada)
    expect(await readSubscription()).toMatchObject({ status: 'PENDING', source: 'public', confirmedAt: null })
    expect(await mailsOf()).toHaveLength(1)
    await confirmSubscription(ctx, await confirmToken())
    expect(await readSubscription()).toMatchObject({ status: 'CONFIRMED' })
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'subscription.created', 'subscription.confirmed'])
  })

  test('a caller without a status confirms, and with PENDING asks by email', async () => {
    await addSubscriber(ctx, list.id, { email: ada.email, status: 'PENDING' })
    expect([await readSubscription(), await mailsOf()]).toMatchObject([{ status: 'PENDING' }, [{}]])
    await addSubscriber(ctx, list.id, { email: ada.email })
    expect([await readSubscription(), await mailsOf()]).toMatchObject([{ status: 'CONFIRMED' }, [{}]])
  })
})

test('a list with double opt-in asks by email unless the caller names a status', async () => {
  await addSubscriber(ctx, list.id, { email: ada.email })
  expect([await readSubscription(), await mailsOf()]).toMatchObject([{ status: 'PENDING' }, [{}]])
})

test('a closed list has no visitors: the route finds no list, a form subscribes no one', async () => {
  const form = await createTestForm(ctx, { listId: list.id })
  await updateList(ctx, list.id, { publicSignup: 'CLOSED' })
  await expect(subscribe(ctx, list.id, ada)).rejects.toMatchObject({ code: 'not_found', message: 'List not found' })
  await submitForm(ctx, form.id, { values: { email: ada.email, news: true } })
  expect([await readSubscription(), await mailsOf()]).toEqual([undefined, []])
  expect(await listEventTypes(ctx)).toEqual(['contact.created', 'form.submitted'])
  await addSubscriber(ctx, list.id, { email: ada.email })
  expect(await readSubscription()).toMatchObject({ status: 'PENDING' })
})

describe('unsubscribing and resubscribing', () => {
  beforeEach(async () => {
    await subscribe(ctx, list.id, ada)
    await confirmSubscription(ctx, await confirmToken())
  })

  test('an opt-out is stored, changes the contact status, and emits one event', async () => {
    await optOut()
    await Promise.all([optOut(), optOut(), optOut()])
    expect(await readSubscription()).toMatchObject({ status: 'UNSUBSCRIBED', unsubscribedAt: expect.any(String) })
    expect(await findAda()).toMatchObject({ emailSubscribedStatus: 'UNSUBSCRIBED' })
    expect((await listEventTypes(ctx)).filter((type) => type === 'subscription.unsubscribed')).toHaveLength(1)
  })

  test('only a link issued after the opt-out resubscribes the contact', async () => {
    await optOut()
    await expect(confirmSubscription(ctx, await confirmToken())).rejects.toMatchObject(invalidLink)
    await letPass('11 minutes')
    const oldLink = await confirmToken()
    await subscribe(ctx, list.id, ada)
    expect(await readSubscription()).toMatchObject({ status: 'UNSUBSCRIBED' })
    await expect(confirmSubscription(ctx, oldLink)).rejects.toMatchObject(invalidLink)
    await confirmSubscription(ctx, await confirmToken())
    expect(await readSubscription()).toMatchObject({ status: 'CONFIRMED', unsubscribedAt: null })
    expect((await listEventTypes(ctx)).slice(-2)).toEqual(['subscription.unsubscribed', 'subscription.confirmed'])
  })

  test('an opt-out invalidates an unused confirmation link', async () => {
    const other = await createTestList(ctx)
    await subscribe(ctx, other.id, ada)
    const link = await confirmToken()
    await unsubscribe(ctx, await unsubscribeToken(other))
    await expect(confirmSubscription(ctx, link)).rejects.toMatchObject(invalidLink)
    expect(await readSubscription(other)).toMatchObject({ status: 'UNSUBSCRIBED' })
  })

  test('twenty concurrent confirmations emit one event', async () => {
    const link = await confirmToken()
    await Promise.all(Array.from({ length: 20 }, () => confirmSubscription(ctx, link)))
    expect((await listEventTypes(ctx)).filter((type) => type === 'subscription.confirmed')).toHaveLength(1)
  })

  test('a link for one list does not change others', async () => {
    const other = await createTestList(ctx)
    await subscribe(ctx, other.id, ada)
    await unsubscribe(ctx, await unsubscribeToken(other))
    expect(await readSubscription(list)).toMatchObject({ status: 'CONFIRMED' })
    expect(await findAda()).toMatchObject({ emailSubscribedStatus: 'SUBSCRIBED' })
  })

  test('after a list is deleted, confirming fails and unsubscribing succeeds', async () => {
    const [confirm, leave] = [await confirmToken(), await unsubscribeToken()]
    const mail = (await mailsOf()).at(-1)
    await ctx.db.delete(lists).where(eq(lists.id, list.id))
    await expect(confirmSubscription(ctx, confirm)).rejects.toMatchObject(invalidLink)
    await unsubscribe(ctx, leave)
    expect(mail && (await renderMail(ctx, mail))).toBeUndefined()
    expect(mail && (await claimTestMail(ctx, uuidOf(mail.id), '00000000-0000-0000-0000-000000000000'))).toBeDefined()
  })
})

describe('concurrent changes', () => {
  test('the contact status reflects two subscriptions that change concurrently', async () => {
    const other = await createTestList(ctx)
    await subscribe(ctx, list.id, ada)
    const confirmFirst = await confirmToken()
    await subscribe(ctx, other.id, ada)
    const leaveOther = await unsubscribeToken(other)
    const confirming = await openTransaction(ctx.db, (db) => confirmSubscription({ ...ctx, db }, confirmFirst))
    const leaving = unsubscribe(ctx, leaveOther)
    await waitUntilBlocked(database.db)
    await Promise.all([confirming.commit(), leaving])
    expect(await findAda()).toMatchObject({ emailSubscribedStatus: 'SUBSCRIBED' })
  })

  test('a visitor does not overwrite a property that is concurrently set', async () => {
    const { id } = await createTestContact(ctx, ada)
    const editing = await openTransaction(ctx.db, (db) =>
      db.update(contacts).set({ firstName: 'Augusta' }).where(eq(contacts.id, id)),
    )
    const subscribing = subscribe(ctx, list.id, { ...ada, firstName: 'Spam', lastName: 'King' })
    await waitUntilBlocked(database.db)
    await Promise.all([editing.commit(), subscribing])
    expect(await findAda()).toMatchObject({ firstName: 'Augusta', lastName: 'King' })
  })

  test('subscribing, confirming and unsubscribing do not deadlock', async () => {
    const { id } = await createTestContact(ctx, ada)
    for (let round = 1; round <= 15; round++) {
      await ctx.db.update(contacts).set({ firstName: '' }).where(eq(contacts.id, id))
      await subscribe(ctx, list.id, ada)
      await letPass('11 minutes')
      const [confirm, leave] = [await confirmToken(), await unsubscribeToken()]
      const subscribing = subscribe(ctx, list.id, { ...ada, firstName: 'Ada' })
      const all = [subscribing, confirmSubscription(ctx, confirm), unsubscribe(ctx, leave)]
      const messages = (await Promise.allSettled(all)).map((result) =>
        result.status === 'rejected' ? (result.reason as Error).message : 'done',
      )
      // Confirming after the opt-out is rejected.
      expect(['done', invalidLink.message]).toContain(messages[1])
      expect([messages[0], messages[2]]).toEqual(['done', 'done'])
    }
  })
})

test('rejects a deleted list with not_found', async () => {
  const gone = await createTestList(ctx)
  await ctx.db.delete(lists).where(eq(lists.id, gone.id))
  await expect(subscribe(ctx, gone.id, ada)).rejects.toMatchObject({ code: 'not_found', message: 'List not found' })
})
