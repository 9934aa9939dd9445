/** What a visitor can do about a suppression: lift what they said, but neither a bounce nor a block. */
import {
  createTestForm,
  createTestList,
  listPendingWork,
  readMailedToken,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { backdate } from '@rapport/testing/postgres/backdate.ts'
import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { findContactByEmail } from '../contacts/find-contact.ts'
import type { Reason } from '../consent/suppression-rows.ts'
import { transaction } from '../db/transaction.ts'
import { readSubmission, submitForm } from '../forms/submissions.ts'
import { newId } from '../kernel/ids.ts'
import type { List } from '../lists/lists.schema.ts'
import { confirmSubscription, requestSubscription, subscribe } from '../lists/subscribe.ts'
import { addSubscriber, readSubscriber } from '../lists/subscribers.ts'
import { unsubscribeUrl } from '../lists/subscription-links.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { unsubscribe } from '../operations/contacts/unsubscribe.ts'
import { suppress } from './suppress.ts'
import { type Timestamp, timestampAt } from '../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
let list: List
let other: List
beforeEach(async () => {
  list = await createTestList(ctx)
  other = await createTestList(ctx)
  await signUp()
  await addSubscriber(ctx, other.id, { email: ada.email, status: 'CONFIRMED' })
})

const ada = { email: 'ada@example.com', firstName: '', lastName: '' }
const invalidLink = { code: 'invalid_token', message: 'Invalid or expired link' }

const give = (reason: Reason, at?: Timestamp) =>
  suppress(ctx, [{ email: ada.email, reason, source: 'API', at }], { emitsEvents: true })
const idOfAda = async () => (await findContactByEmail(ctx, ada.email))?.id ?? newId('con')
const statusOf = async (on: List) => (await readSubscriber(ctx, on.id, await idOfAda())).status

/** Signs up when the last confirmation was mailed an hour ago. */
async function signUp(on = list) {
  await database.db.execute(sql`update mail_requests set ${backdate('created_at', '1 hour')}`)
  await subscribe(ctx, on.id, ada)
}

test.each(['BOUNCED', 'MANUAL'] as const)(
  '%s: no link confirms, none is mailed, and an opt-out counts',
  async (reason) => {
    const token = await readMailedToken(ctx, ada.email)
    const mails = (await listPendingWork(ctx, 'mail')).length
    await give(reason)
    await signUp()
    expect(await listPendingWork(ctx, 'mail')).toHaveLength(mails)
    await expect(confirmSubscription(ctx, token)).rejects.toMatchObject(invalidLink)
    const link = { listId: list.id, contactId: await idOfAda(), email: ada.email }
    const url = new URL(unsubscribeUrl(ctx, link))
    await unsubscribe(ctx, url.searchParams.get('token') ?? '')
    expect(await statusOf(list)).toBe('UNSUBSCRIBED')
  },
)

test.each(['COMPLAINED', 'OPTED_OUT'] as const)('%s: a later link lifts it, for its list alone', async (reason) => {
  const earlier = await readMailedToken(ctx, ada.email)
  await give(reason)
  await expect(confirmSubscription(ctx, earlier)).rejects.toMatchObject(invalidLink)
  await signUp()
  await confirmSubscription(ctx, await readMailedToken(ctx, ada.email))
  expect([await statusOf(list), await statusOf(other)]).toEqual(['CONFIRMED', 'UNSUBSCRIBED'])
  expect(await findContactByEmail(ctx, ada.email)).toMatchObject({ emailSubscribedStatus: 'SUBSCRIBED' })
})

test.each(['COMPLAINED', 'OPTED_OUT'] as const)(
  '%s of a deleted contact: a later link lifts it, for its list alone',
  async (reason) => {
    await give(reason)
    await deleteContact(ctx, await idOfAda())
    await signUp()
    await confirmSubscription(ctx, await readMailedToken(ctx, ada.email))
    expect(await statusOf(list)).toBe('CONFIRMED')
    const adding = addSubscriber(ctx, other.id, { email: ada.email, status: 'CONFIRMED' })
    await expect(adding).rejects.toMatchObject({ code: 'opted_out' })
    await signUp(other)
    await confirmSubscription(ctx, await readMailedToken(ctx, ada.email))
    expect(await statusOf(other)).toBe('CONFIRMED')
  },
)

test.each(['BOUNCED', 'MANUAL'] as const)(
  '%s from before a link, but known only later: it confirms nothing',
  async (reason) => {
    const token = await readMailedToken(ctx, ada.email)
    await give(reason, timestampAt('2026-01-01'))
    await expect(confirmSubscription(ctx, token)).rejects.toMatchObject(invalidLink)
    expect(await statusOf(list)).not.toBe('CONFIRMED')
  },
)

test.each(['OPTED_OUT', 'COMPLAINED'] as const)('%s: an older statement opens no link from before', async (reason) => {
  const token = await readMailedToken(ctx, ada.email)
  await give(reason)
  const older = { email: ada.email, reason, source: 'IMPORT', at: timestampAt('2020-01-01') } as const
  await suppress(ctx, [older], { emitsEvents: false })
  await expect(confirmSubscription(ctx, token)).rejects.toMatchObject(invalidLink)
})

test.each(['OPTED_OUT', 'COMPLAINED'] as const)('%s: a later statement closes a link from before', async (reason) => {
  const older = { email: ada.email, reason, source: 'IMPORT', at: timestampAt('2020-01-01') } as const
  await suppress(ctx, [older], { emitsEvents: false })
  await signUp()
  const token = await readMailedToken(ctx, ada.email)
  await suppress(ctx, [{ email: ada.email, reason, source: 'MAIL_EVENT' }], { emitsEvents: false })
  await expect(confirmSubscription(ctx, token)).rejects.toMatchObject(invalidLink)
})

test.each(['BOUNCED', 'MANUAL'] as const)('%s: a sign-up stores no contact', async (reason) => {
  await deleteContact(ctx, await idOfAda())
  await give(reason)
  await signUp()
  expect(await findContactByEmail(ctx, ada.email)).toBeUndefined()
})

test.each(['BOUNCED', 'MANUAL'] as const)('%s: a form that signs up stores only the submission', async (reason) => {
  const fields = [
    { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' } as const,
    { id: 'name', label: 'Name', type: 'TEXT', mapsTo: 'firstName' } as const,
    { id: 'news', label: 'Send me news', type: 'CONSENT' } as const,
  ]
  const form = await createTestForm(ctx, { fields, listId: list.id })
  const submit = async (news: boolean) => {
    const values = { email: ada.email, name: 'Ada', news }
    const { submissionId } = await submitForm(ctx, form.id, { values })
    return readSubmission(ctx, { formId: form.id, submissionId })
  }
  await give(reason)
  const mails = (await listPendingWork(ctx, 'mail')).length
  const id = await idOfAda()
  expect(await submit(true)).toMatchObject({ contactId: id, values: { name: 'Ada' } })
  expect(await findContactByEmail(ctx, ada.email)).toMatchObject({ firstName: '' })
  expect(await listPendingWork(ctx, 'mail')).toHaveLength(mails)
  await deleteContact(ctx, id)
  expect(await submit(true)).toMatchObject({ contactId: null, values: { email: ada.email } })
  expect(await findContactByEmail(ctx, ada.email)).toBeUndefined()
  const { contactId } = await submit(false)
  expect(await findContactByEmail(ctx, ada.email)).toMatchObject({ id: contactId, firstName: 'Ada' })
})

test.each(['BOUNCED', 'MANUAL'] as const)('%s: a request of a known contact mails no link', async (reason) => {
  await give(reason)
  const contact = { id: await idOfAda(), email: ada.email }
  const request = { listId: list.id, contact, source: 'form', consent: { method: 'FORM' } } as const
  await database.db.execute(sql`update mail_requests set ${backdate('created_at', '1 hour')}`)
  expect(await transaction(ctx.db, (db) => requestSubscription({ ...ctx, db }, request))).toBe(false)
})
