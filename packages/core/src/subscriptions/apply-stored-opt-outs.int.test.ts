import { eq } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { mergeContacts } from '../operations/merge-contacts.ts'
import { updateContact } from '../contacts/update-contact.ts'
import type { Ctx } from '../request/context.ts'
import { lists } from '../db/schema/index.ts'
import { deriveKeys } from '../kernel/crypto.ts'
import { type ContactId, newId } from '../kernel/ids.ts'
import { openTransaction, waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import {
  createTestContact,
  createTestCtx,
  createTestList,
  listEventTypes,
  readMailedToken,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { unsubscribeUrl } from '../lists/subscription-links.ts'
import type { List } from '../lists/lists.schema.ts'
import { addSubscriber, listSubscribers, readSubscriber } from '../lists/subscribers.ts'
import { confirmSubscription, subscribe } from '../lists/subscribe.ts'
import { suppressAddress } from './suppressions.ts'
import { unsubscribe } from '../operations/unsubscribe.ts'
import { readContact } from '../contacts/read-contact.ts'
import { deleteContact } from '../operations/delete-contact.ts'

const database = useTestDatabase()
let ctx: Ctx
let list: List
/** Addresses of this test alone. */
let ownEmail: string
let otherEmail: string
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  list = await createTestList(ctx)
  ownEmail = `own-${list.id}@example.com`
  otherEmail = `other-${list.id}@example.com`
})

const statusOf = async (contactId: ContactId, of = list) => (await readSubscriber(ctx, of.id, contactId)).status
const confirm = async (email: string) =>
  (await addSubscriber(ctx, list.id, { email, status: 'CONFIRMED' })).subscription.contactId
const changeEmail = (id: ContactId) => updateContact(ctx, id, { email: `away-${list.id}@example.com` })

/** A stranger has typed this address. */
async function signUp(email: string) {
  await subscribe(ctx, list.id, { email, firstName: '', lastName: '' })
  const page = await listSubscribers(ctx, list.id, { limit: 1, sort: '-createdAt' })
  return page.data[0]?.contactId ?? newId('con')
}

/** The token of the link in a mail of the list to her. */
function linkTo(contactId: ContactId) {
  const url = unsubscribeUrl(ctx, { listId: list.id, contactId, email: ownEmail })
  return new URL(url).searchParams.get('token') ?? ''
}

/** Her contact, off the list by her own wish. */
async function optOut() {
  const id = await confirm(ownEmail)
  const url = unsubscribeUrl(ctx, { listId: list.id, contactId: id })
  await unsubscribe(ctx, new URL(url).searchParams.get('token') ?? '')
  return id
}

/** As if the key had been changed since everything so far. */
function changeSecretKey() {
  const key = 'a secret that nobody had yet'
  ctx = { ...ctx, settings: { ...ctx.settings, keys: deriveKeys(key, ['a secret that is known to every test']) } }
}

const waysToFreeEmail: Record<string, (id: ContactId) => Promise<unknown>> = {
  'was deleted': (id) => deleteContact(ctx, id),
  'was given another address': changeEmail,
  'was merged into another': async (id) => mergeContacts(ctx, (await createTestContact(ctx)).id, { contactId: id }),
}

describe('who comes to an address that opted out', () => {
  test.each(Object.entries(waysToFreeEmail))(
    'leaves that list, where its contact %s, and it is told',
    async (_, freeEmail) => {
      await freeEmail(await optOut())
      const id = await confirm(otherEmail)
      const other = await createTestList(ctx)
      await addSubscriber(ctx, other.id, { contactId: id, status: 'CONFIRMED' })
      changeSecretKey()
      const changed = await updateContact(ctx, id, { email: ownEmail.toUpperCase() })
      expect(await statusOf(id)).toBe('UNSUBSCRIBED')
      // Nothing was said of the other list, so the word of who changed the address stands.
      expect(await statusOf(id, other)).toBe('CONFIRMED')
      expect(changed).toEqual(await readContact(ctx, id))
      expect((await listEventTypes(ctx)).slice(-2)).toEqual(['subscription.unsubscribed', 'contact.updated'])
    },
  )

  test('leaves it when only PENDING, and comes back by a link that is mailed to that address', async () => {
    await deleteContact(ctx, await optOut())
    const id = await signUp(otherEmail)
    await updateContact(ctx, id, { email: ownEmail })
    expect(await statusOf(id)).toBe('UNSUBSCRIBED')
    await database.db.execute(`update subscriptions set confirmations_requested_at = '{}'`)
    await signUp(ownEmail)
    await confirmSubscription(ctx, await readMailedToken(ctx, ownEmail))
    expect(await statusOf(id)).toBe('CONFIRMED')
  })

  test('leaves it while its contact is given another address at the same moment', async () => {
    const [former, id] = [await optOut(), await confirm(otherEmail)]
    const leaving = await openTransaction(ctx.db, (db) =>
      updateContact({ ...ctx, db }, former, { email: 'x@example.com' }),
    )
    const coming = updateContact(ctx, id, { email: ownEmail })
    await waitUntilBlocked(database.db)
    await Promise.all([leaving.commit(), coming])
    expect(await statusOf(id)).toBe('UNSUBSCRIBED')
  })

  test('leaves every list when it is suppressed, also under a former SECRET_KEY', async () => {
    await suppressAddress(ctx, ownEmail, 'COMPLAINED')
    changeSecretKey()
    const id = await confirm(otherEmail)
    const changed = await updateContact(ctx, id, { email: ownEmail })
    expect([changed.emailSubscribedStatus, await statusOf(id)]).toEqual(['COMPLAINED', 'COMPLAINED'])
  })
})

describe('a merge', () => {
  test('brings no subscription to an address that opted out of the list', async () => {
    await deleteContact(ctx, await optOut())
    const again = await createTestContact(ctx, { email: ownEmail })
    const merged = await mergeContacts(ctx, again.id, { contactId: await confirm(otherEmail) })
    expect([merged.emailSubscribedStatus, await statusOf(again.id)]).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED'])
  })

  test('brings no subscription to an address that is suppressed', async () => {
    await suppressAddress(ctx, ownEmail, 'BOUNCED')
    const { id } = await createTestContact(ctx, { email: ownEmail })
    const merged = await mergeContacts(ctx, id, { contactId: await confirm(otherEmail) })
    expect([merged.emailSubscribedStatus, await statusOf(id)]).toEqual(['BOUNCED', 'BOUNCED'])
  })
})

describe('who has another address', () => {
  test('stays on the list by the word of who changed it, and off it by their own', async () => {
    const id = await confirm(otherEmail)
    expect((await changeEmail(id)).emailSubscribedStatus).toBe('SUBSCRIBED')
    const left = await optOut()
    expect((await updateContact(ctx, left, { email: 'new@example.com' })).emailSubscribedStatus).toBe('UNSUBSCRIBED')
    expect((await updateContact(ctx, left, { email: ownEmail })).emailSubscribedStatus).toBe('UNSUBSCRIBED')
  })

  test('that differs in capitals alone, has the same', async () => {
    const id = await signUp(ownEmail)
    await updateContact(ctx, id, { email: ownEmail.toUpperCase() })
    await confirmSubscription(ctx, await readMailedToken(ctx, ownEmail))
    expect(await statusOf(id)).toBe('CONFIRMED')
    expect(await listEventTypes(ctx)).not.toContain('subscription.unsubscribed')
  })
})

describe('an unsubscribe link counts for the address it was mailed to, too', () => {
  test.each(Object.entries(waysToFreeEmail))('when its contact %s before', async (_, freeEmail) => {
    const former = await confirm(ownEmail)
    await freeEmail(former)
    const token = linkTo(former)
    for (let click = 1; click <= 3; click++) await unsubscribe(ctx, token)
    const id = await confirm(otherEmail)
    await updateContact(ctx, id, { email: ownEmail })
    expect(await statusOf(id)).toBe('UNSUBSCRIBED')
  })

  test('and is content when the list is gone', async () => {
    const former = await confirm(ownEmail)
    await database.db.delete(lists).where(eq(lists.id, list.id))
    await expect(unsubscribe(ctx, linkTo(former))).resolves.toBeUndefined()
  })

  test('until it opts in again by a link that is mailed to it', async () => {
    const former = await confirm(ownEmail)
    await unsubscribe(ctx, linkTo(former))
    await signUp(ownEmail)
    await confirmSubscription(ctx, await readMailedToken(ctx, ownEmail))
    await deleteContact(ctx, former)
    expect(await statusOf(await confirm(ownEmail))).toBe('CONFIRMED')
  })
})

describe('a confirmation link counts for nobody but the address it was mailed to', () => {
  const invalidLink = { code: 'invalid', message: 'Invalid or expired link' }

  test('not when the contact has another address since, until it has the first again', async () => {
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

  test('not when the contact was merged into one with another address', async () => {
    const duplicate = await signUp(otherEmail)
    const token = await readMailedToken(ctx, otherEmail)
    const { id } = await createTestContact(ctx, { email: ownEmail })
    await mergeContacts(ctx, id, { contactId: duplicate })
    await expect(confirmSubscription(ctx, token)).rejects.toMatchObject(invalidLink)
    expect(await statusOf(id)).toBe('PENDING')
  })

  test('not when the mail is written after the address was changed', async () => {
    const id = await signUp(otherEmail)
    await updateContact(ctx, id, { email: ownEmail })
    await expect(confirmSubscription(ctx, await readMailedToken(ctx, otherEmail))).rejects.toMatchObject(invalidLink)
  })
})
