import {
  createTestContact,
  createTestForm,
  createTestList,
  readMailedToken,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { canDeadlock, deadlockOnce } from '@rapport/testing/postgres/deadlock-once.ts'
import { waitUntilBlocked } from '@rapport/testing/postgres/database.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import { preferencesUrl } from '../consent/preferences-links.ts'
import { lockContact } from '../contacts/lock-contact.ts'
import type { Contact } from '../contacts/contacts.schema.ts'
import { submitForm } from '../forms/submissions.ts'
import { optOutContact } from '../operations/contacts/opt-out-contact.ts'
import { confirmTrackingConsent } from '../operations/contacts/tracking-consent.ts'
import { askToReturn } from '../operations/preferences/change-preferences.ts'
import { requestPersonalData } from '../operations/preferences/personal-data-mail.ts'
import { chooseTracking } from '../operations/preferences/track-preferences.ts'
import { type Ctx, inTransaction } from '../request/context.ts'
import { runIdempotently } from '../request/idempotency.ts'
import { changedBeforeLock } from '../request/in-rounds.ts'
import { lockList } from './lists.ts'
import type { List } from './lists.schema.ts'
import { confirmSubscription, requestSubscription, subscribe } from './subscribe.ts'
import { addSubscriber, readSubscriber, removeSubscriber } from './subscribers.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

let ada: Contact
let list: List
let preferences: string
beforeEach(async () => {
  ada = await createTestContact(ctx, { email: 'ada@example.com' })
  list = await createTestList(ctx)
  const url = new URL(preferencesUrl(ctx, { contactId: ada.id, email: ada.email }))
  preferences = url.searchParams.get('token') ?? ''
})

const signUp = () => subscribe(ctx, list.id, { email: ada.email, firstName: '', lastName: '' })
const submit = async () => {
  const fields = [
    { id: 'email', label: 'Email', type: 'EMAIL', required: true, mapsTo: 'email' } as const,
    { id: 'news', label: 'Send me news', type: 'CONSENT' } as const,
  ]
  const { id } = await createTestForm(ctx, { fields, listId: list.id })
  return submitForm(ctx, id, { values: { email: ada.email, news: true } })
}
const returnByPage = () => askToReturn(ctx, { token: preferences, listId: list.id })

const endings = {
  'a removal': (ctx: Ctx) => removeSubscriber(ctx, list.id, ada.id),
  'an opt-out': (ctx: Ctx) => optOutContact(ctx, ada.id, {}),
}

const request = { source: 'public', consent: { method: 'PUBLIC_SUBSCRIBE' } } as const
const asks: [string, (ctx: Ctx) => Promise<unknown>][] = [
  ['of a visitor', (ctx) => requestSubscription(ctx, { ...request, listId: list.id, contact: ada })],
  ['of a caller', (ctx) => addSubscriber(ctx, list.id, { contactId: ada.id, status: 'PENDING' })],
]

describe.each(Object.entries(endings))('%s that comes after a sign-up has started', (name, end) => {
  beforeEach(() => addSubscriber(ctx, list.id, { contactId: ada.id, status: 'CONFIRMED' }))

  test.each(asks)('lets the sign-up %s start over', async (of, ask) => {
    const asking = inTransaction(ctx, async (started) => {
      await lockList(started, list.id)
      await end(ctx)
      await ask(started)
    })
    // A caller is not asked after an opt-out.
    const isRefused = of === 'of a caller' && name === 'an opt-out'
    await expect(asking).rejects.toMatchObject({ code: isRefused ? 'opted_out' : changedBeforeLock.code })
  })

  test.each(Object.entries({ signUp, submit, returnByPage }))('leaves the link of %s valid', async (_, ask) => {
    const [locked, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const ending = inTransaction(ctx, async (ctx) => {
      await lockContact(ctx, ada.id)
      locked.resolve()
      await asked.promise
      await end(ctx)
    })
    await locked.promise
    const asking = ask()
    await waitUntilBlocked(database.db)
    asked.resolve()
    await Promise.all([ending, asking])
    await confirmSubscription(ctx, await readMailedToken(ctx, ada.email))
    expect(await readSubscriber(ctx, list.id, ada.id)).toMatchObject({ status: 'CONFIRMED' })
  })
})

test.each(asks)('a request %s that a later sign-up overtakes leaves its link valid', async (_, ask) => {
  const asking = inTransaction(ctx, async (started) => {
    await lockList(started, list.id)
    // What starts in one millisecond has no order.
    await started.db.execute('select pg_sleep(0.002)')
    await signUp()
    await ask(started)
  })
  await expect(asking).rejects.toMatchObject({ code: changedBeforeLock.code })
  await confirmSubscription(ctx, await readMailedToken(ctx, ada.email))
  expect(await readSubscriber(ctx, list.id, ada.id)).toMatchObject({ status: 'CONFIRMED' })
})

test('a caller confirms a contact that was removed after the request had started', async () => {
  await addSubscriber(ctx, list.id, { contactId: ada.id, status: 'CONFIRMED' })
  await inTransaction(ctx, async (started) => {
    await lockList(started, list.id)
    await removeSubscriber(ctx, list.id, ada.id)
    await addSubscriber(started, list.id, { contactId: ada.id, status: 'CONFIRMED' })
  })
  expect(await readSubscriber(ctx, list.id, ada.id)).toMatchObject({ status: 'CONFIRMED' })
})

test('with an Idempotency-Key, a sign-up that a removal overtakes starts over', async () => {
  await addSubscriber(ctx, list.id, { contactId: ada.id, status: 'CONFIRMED' })
  const [locked, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const removing = inTransaction(ctx, async (ctx) => {
    await lockContact(ctx, ada.id)
    locked.resolve()
    await asked.promise
    await removeSubscriber(ctx, list.id, ada.id)
  })
  await locked.promise
  const request = { key: 'once', hash: 'hash of the request', toResponse: () => undefined }
  const asking = runIdempotently(ctx, request, async (ctx) => {
    await addSubscriber(ctx, list.id, { contactId: ada.id, status: 'PENDING' })
    return { status: 201, location: null, body: '{}' }
  })
  await waitUntilBlocked(database.db)
  asked.resolve()
  await removing
  expect(await asking).toMatchObject({ replayed: false })
  await confirmSubscription(ctx, await readMailedToken(ctx, ada.email))
  expect(await readSubscriber(ctx, list.id, ada.id)).toMatchObject({ status: 'CONFIRMED' })
})

const wording = { opens: 'When I open the emails', clicks: 'When I click links' }
const chooseOpens = () => chooseTracking(ctx, { token: preferences, allowed: ['opens'], wording })

/** What each visit needs, and what it does then. */
const visits: [string, () => Promise<() => Promise<unknown>>][] = [
  ['a sign-up', async () => signUp],
  ['a form', async () => submit],
  [
    'a request to return',
    async () => {
      await addSubscriber(ctx, list.id, { contactId: ada.id, status: 'CONFIRMED' })
      await optOutContact(ctx, ada.id, {})
      return returnByPage
    },
  ],
  ['a request for personal data', async () => () => requestPersonalData(ctx, { token: preferences })],
  ['a choice of tracking', async () => chooseOpens],
  [
    'a grant of tracking',
    async () => {
      await chooseOpens()
      const token = await readMailedToken(ctx, ada.email)
      return () => confirmTrackingConsent(ctx, token)
    },
  ],
]

test.skipIf(!canDeadlock()).each(visits)('%s that deadlocks once is repeated', async (_, prepare) => {
  const visit = await prepare()
  expect(await deadlockOnce(database.db, ['contacts', 'mails', 'tracking_consents'], visit)).toBe(true)
})
