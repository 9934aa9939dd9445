import { backdate } from '@rapport/testing/postgres/backdate.ts'
import { eq, sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { updateContact } from '../contacts/update-contact.ts'
import { lists } from '../db/schema/index.ts'
import { deriveKeys } from '../kernel/crypto.ts'
import { type ContactId, newId } from '../kernel/ids.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { createTestContact, listEventTypes, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { createTestSubscriber, readStatusesOn, unsubscribeTokenOf } from '@rapport/testing/consent/test-subscriber.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import type { List } from '../lists/lists.schema.ts'
import { addSubscriber, listSubscribers } from '../lists/subscribers.ts'
import { confirmSubscription, subscribe } from '../lists/subscribe.ts'
import { readSuppressions } from './consent-records.ts'
import { suppress } from '../suppressions/suppress.ts'
import { unsubscribe } from '../operations/contacts/unsubscribe.ts'
import { readContact } from '../contacts/read-contact.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const [ownEmail, otherEmail] = ['ada@example.com', 'other@example.com']
let list: List
let other: List
let ada: ContactId
beforeEach(async () => {
  const subscriber = await createTestSubscriber(ctx, { email: ownEmail })
  ;({ list, other } = subscriber)
  ada = subscriber.ada.id
})

const statusOf = async (id: ContactId, on = list) => (await readStatusesOn(ctx, [on], { id }))[0]
const confirm = async (email: string) =>
  (await addSubscriber(ctx, list.id, { email, status: 'CONFIRMED' })).subscription.contactId
const changeEmail = (id: ContactId) => updateContact(ctx, id, { email: 'away@example.com' })

/** Subscribes as a visitor. */
async function signUp(email: string) {
  await subscribe(ctx, list.id, { email, firstName: '', lastName: '' })
  const page = await listSubscribers(ctx, list.id, { limit: 1, sort: '-createdAt' })
  return page.data[0]?.contactId ?? newId('con')
}

/** The token of an unsubscribe link. */
const linkTo = (id: ContactId, email = ownEmail) => unsubscribeTokenOf(ctx, list, { id, email })

/** Unsubscribes `ownEmail` by a link. */
async function optOut() {
  await unsubscribe(ctx, linkTo(ada))
  return ada
}

/** Replaces the secret key; existing hashes use the former key. */
function changeSecretKey() {
  const keys = deriveKeys('a new secret', ['a secret that is known to every test'])
  Object.assign(ctx, { settings: { ...ctx.settings, keys } })
}

const waysToFreeEmail: Record<string, (id: ContactId) => Promise<unknown>> = {
  'was deleted': (id) => deleteContact(ctx, id),
  'got another email': changeEmail,
  'was merged into another contact': async (id) =>
    mergeContacts(ctx, (await createTestContact(ctx)).id, { contactId: id }),
}

describe('a contact that gets the email of an opt-out', () => {
  test.each(Object.entries(waysToFreeEmail))(
    'is unsubscribed, with an event, if the former contact %s',
    async (_, freeEmail) => {
      await freeEmail(await optOut())
      const id = await confirm(otherEmail)
      await addSubscriber(ctx, other.id, { contactId: id, status: 'CONFIRMED' })
      changeSecretKey()
      const changed = await updateContact(ctx, id, { email: ownEmail.toUpperCase() })
      expect(await statusOf(id)).toBe('UNSUBSCRIBED')
      // The address has not opted out of the other list.
      expect(await statusOf(id, other)).toBe('CONFIRMED')
      expect(changed).toEqual(await readContact(ctx, id))
      expect((await listEventTypes(ctx)).slice(-2)).toEqual(['subscription.unsubscribed', 'contact.updated'])
    },
  )

  test('is unsubscribed when PENDING, and can resubscribe by an emailed link', async () => {
    await deleteContact(ctx, await optOut())
    const id = await signUp(otherEmail)
    await updateContact(ctx, id, { email: ownEmail })
    expect(await statusOf(id)).toBe('UNSUBSCRIBED')
    await database.db.execute(sql`update mail_requests set ${backdate('created_at', '1 hour')}`)
    await signUp(ownEmail)
    await confirmSubscription(ctx, await readMailedToken(ctx, ownEmail))
    expect(await statusOf(id)).toBe('CONFIRMED')
  })

  test('is unsubscribed when the former contact changes its email concurrently', async () => {
    const [former, id] = [await optOut(), await confirm(otherEmail)]
    const leaving = await openTransaction(ctx.db, (db) =>
      updateContact({ ...ctx, db }, former, { email: 'x@example.com' }),
    )
    const coming = updateContact(ctx, id, { email: ownEmail })
    await waitUntilBlocked(database.db)
    await Promise.all([leaving.commit(), coming])
    expect(await statusOf(id)).toBe('UNSUBSCRIBED')
  })

  test('is suppressed on all lists, even if suppressed under a former SECRET_KEY', async () => {
    await deleteContact(ctx, ada)
    await suppress(ctx, [{ email: ownEmail, reason: 'COMPLAINED', source: 'MAIL_EVENT' }], { emitsEvents: false })
    changeSecretKey()
    const id = await confirm(otherEmail)
    const changed = await updateContact(ctx, id, { email: ownEmail })
    expect([changed.emailSubscribedStatus, await statusOf(id)]).toEqual(['COMPLAINED', 'COMPLAINED'])
  })
})

test('a suppression under a former SECRET_KEY remains after a change of address', async () => {
  await suppress(ctx, [{ email: ownEmail, reason: 'COMPLAINED', source: 'MAIL_EVENT' }], { emitsEvents: false })
  changeSecretKey()
  await updateContact(ctx, ada, { email: otherEmail })
  const reasons = await Promise.all([ownEmail, otherEmail].map((email) => readSuppressions(ctx, { email })))
  expect(reasons.map(([row]) => row?.reason)).toEqual(['COMPLAINED', 'COMPLAINED'])
})

describe('a merge', () => {
  test('does not subscribe an address that opted out of the list', async () => {
    await deleteContact(ctx, await optOut())
    const again = await createTestContact(ctx, { email: ownEmail })
    const merged = await mergeContacts(ctx, again.id, { contactId: await confirm(otherEmail) })
    expect([merged.emailSubscribedStatus, await statusOf(again.id)]).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED'])
  })

  test('does not subscribe a suppressed address', async () => {
    await deleteContact(ctx, ada)
    await suppress(ctx, [{ email: ownEmail, reason: 'BOUNCED', source: 'MAIL_EVENT' }], { emitsEvents: false })
    const { id } = await createTestContact(ctx, { email: ownEmail })
    const merged = await mergeContacts(ctx, id, { contactId: await confirm(otherEmail) })
    expect([merged.emailSubscribedStatus, await statusOf(id)]).toEqual(['BOUNCED', 'BOUNCED'])
  })
})

describe('a change of email', () => {
  test('keeps subscriptions and opt-outs', async () => {
    const id = await confirm(otherEmail)
    expect((await changeEmail(id)).emailSubscribedStatus).toBe('SUBSCRIBED')
    await optOut()
    for (const email of ['new@example.com', ownEmail]) {
      await updateContact(ctx, ada, { email })
      expect([await statusOf(ada), await statusOf(ada, other)]).toEqual(['UNSUBSCRIBED', 'CONFIRMED'])
    }
  })

  test('that only changes case keeps confirmation links valid', async () => {
    await deleteContact(ctx, ada)
    const id = await signUp(ownEmail)
    await updateContact(ctx, id, { email: ownEmail.toUpperCase() })
    await confirmSubscription(ctx, await readMailedToken(ctx, ownEmail))
    expect(await statusOf(id)).toBe('CONFIRMED')
    expect(await listEventTypes(ctx)).not.toContain('subscription.unsubscribed')
  })
})

describe('an unsubscribe link also opts out the address it was mailed to', () => {
  test.each(Object.entries(waysToFreeEmail))('if its contact %s before', async (_, freeEmail) => {
    const former = ada
    await freeEmail(former)
    const token = linkTo(former)
    for (let click = 1; click <= 3; click++) await unsubscribe(ctx, token)
    const id = await confirm(otherEmail)
    await updateContact(ctx, id, { email: ownEmail })
    expect(await statusOf(id)).toBe('UNSUBSCRIBED')
  })

  test('and succeeds if the list was deleted', async () => {
    const former = ada
    await database.db.delete(lists).where(eq(lists.id, list.id))
    await expect(unsubscribe(ctx, linkTo(former))).resolves.toBeUndefined()
  })

  test('and a repeated click makes a confirmation link from before invalid', async () => {
    const former = ada
    await unsubscribe(ctx, linkTo(former))
    await signUp(ownEmail)
    await unsubscribe(ctx, linkTo(former))
    const link = await readMailedToken(ctx, ownEmail)
    await expect(confirmSubscription(ctx, link)).rejects.toMatchObject({ code: 'invalid_token' })
    expect(await statusOf(former)).toBe('UNSUBSCRIBED')
  })

  test('and so does a later click for another address of the person', async () => {
    const former = ada
    await unsubscribe(ctx, linkTo(former))
    await signUp(ownEmail)
    const link = await readMailedToken(ctx, ownEmail)
    const duplicate = await confirm(otherEmail)
    await unsubscribe(ctx, linkTo(duplicate, otherEmail))
    await mergeContacts(ctx, former, { contactId: duplicate })
    await expect(confirmSubscription(ctx, link)).rejects.toMatchObject({ code: 'invalid_token' })
    expect(await statusOf(former)).toBe('UNSUBSCRIBED')
  })

  test('once, if it was stored with two secret keys', async () => {
    await unsubscribe(ctx, linkTo(ada))
    changeSecretKey()
    await unsubscribe(ctx, linkTo(ada))
    await changeEmail(ada)
    expect(await readSuppressions(ctx, { email: 'away@example.com', listId: list.id })).toHaveLength(1)
  })

  test('until the address opts in again by an emailed link', async () => {
    const former = ada
    await unsubscribe(ctx, linkTo(former))
    await signUp(ownEmail)
    await confirmSubscription(ctx, await readMailedToken(ctx, ownEmail))
    await deleteContact(ctx, former)
    expect(await statusOf(await confirm(ownEmail))).toBe('CONFIRMED')
  })
})

describe('a confirmation link is valid only for the address it was mailed to', () => {
  const invalidLink = { code: 'invalid_token', message: 'Invalid or expired link' }
  beforeEach(() => deleteContact(ctx, ada))

  test('rejects the link after a change of email, until it is changed back', async () => {
    const id = await signUp(otherEmail)
    const token = await readMailedToken(ctx, otherEmail)
    await updateContact(ctx, id, { email: ownEmail })
    await expect(confirmSubscription(ctx, token)).rejects.toMatchObject(invalidLink)
    expect(await statusOf(id)).toBe('PENDING')
    await updateContact(ctx, id, { email: otherEmail })
    changeSecretKey()
    await confirmSubscription(ctx, token)
    expect(await statusOf(id)).toBe('CONFIRMED')
  })

  test('rejects the link after a merge into a contact with another email', async () => {
    const duplicate = await signUp(otherEmail)
    const token = await readMailedToken(ctx, otherEmail)
    const { id } = await createTestContact(ctx, { email: ownEmail })
    await mergeContacts(ctx, id, { contactId: duplicate })
    await expect(confirmSubscription(ctx, token)).rejects.toMatchObject(invalidLink)
    expect(await statusOf(id)).toBe('PENDING')
  })

  test('rejects a link of an email rendered after the address was changed', async () => {
    const id = await signUp(otherEmail)
    await updateContact(ctx, id, { email: ownEmail })
    await expect(confirmSubscription(ctx, await readMailedToken(ctx, otherEmail))).rejects.toMatchObject(invalidLink)
  })
})
