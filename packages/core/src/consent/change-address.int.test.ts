/** What becomes of the subscriptions of a contact that gets another address, whichever operation changes it. */
import { createTestContact, listEventTypes, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { queueTestImport, runQueuedImport, runTestImport } from '@rapport/testing/fixtures/imports.ts'
import { confirmOn, createTestSubscriber, readStatusesOn } from '@rapport/testing/consent/test-subscriber.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { recordStatements } from '@rapport/testing/postgres/statements.ts'
import { and, eq } from 'drizzle-orm'
import { beforeEach, describe, expect, test } from 'vitest'
import { writeContactBatch } from '../contacts/batch/write-contact-batch.ts'
import type { Contact } from '../contacts/contacts.schema.ts'
import { readContact } from '../contacts/read-contact.ts'
import { updateContact } from '../contacts/update-contact.ts'
import { upsertContact } from '../contacts/upsert-contact.ts'
import { mails } from '../db/schema/index.ts'
import type { List } from '../lists/lists.schema.ts'
import { confirmSubscription } from '../lists/subscribe.ts'
import { deleteContact } from '../operations/contacts/delete-contact.ts'
import { mergeContacts } from '../operations/contacts/merge-contacts.ts'
import { optOutContact } from '../operations/contacts/opt-out-contact.ts'
import type { Ctx } from '../request/context.ts'
import { liftSuppression } from '../suppressions/lift-suppression.ts'
import { createSuppression } from '../suppressions/suppressions.ts'
import { denyByContact } from './tracking/tracking-consents.ts'
import { updateWorkspace } from '../workspaces/update-workspace.ts'
import { hashEmail } from './hash-email.ts'
import { listSubscriptionsOfContact } from './list-subscriptions-of-contact.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const next = 'next@example.com'
let lists: [List, List]
let ada: Contact
beforeEach(async () => {
  const subscriber = await createTestSubscriber(ctx, { externalId: 'x' })
  ada = subscriber.ada
  lists = [subscriber.list, subscriber.other]
})

const ways: Record<string, (email: string) => Promise<unknown>> = {
  PATCH: (email) => updateContact(ctx, ada.id, { email }),
  PUT: (email) => upsertContact(ctx, { externalId: 'x', email }),
  'a batch': (email) =>
    writeContactBatch(ctx, { contacts: [{ externalId: 'x', email }], onConflict: 'update' }, () => {}),
  'an import': (email) =>
    runTestImport(ctx, `externalId,email\nx,${email}\n`, { onConflict: 'update', events: 'each' }),
}
const move = (email = next) => updateContact(ctx, ada.id, { email })
const askAgain = () => updateWorkspace(ctx, { confirmChangedAddress: true })
const statuses = () => readStatusesOn(ctx, lists, ada)
const countMails = (email = next) =>
  ctx.db.$count(mails, and(eq(mails.workspaceId, ctx.workspaceId), eq(mails.toAddress, email)))
const proofs = async () =>
  (await listSubscriptionsOfContact(ctx, ada.id, { limit: 100 })).data.map(({ consents }) => consents)

describe.each(Object.entries(ways))('by %s', (_, change) => {
  test('confirmed subscriptions move, with the hash of the former address as proof', async () => {
    await change(next)
    expect([await statuses(), await countMails()]).toEqual([['CONFIRMED', 'CONFIRMED'], 0])
    const proof = { method: 'ADDRESS_CHANGED', email: next, formerEmailHash: hashEmail(ctx, ada.email), address: null }
    const moved = [expect.objectContaining(proof), expect.objectContaining({ method: 'API', email: ada.email })]
    expect(await proofs()).toEqual([moved, moved])
  })

  test('with confirmChangedAddress they are PENDING, and the new address is asked', async () => {
    await askAgain()
    await change(next)
    expect([await statuses(), await countMails()]).toEqual([['PENDING', 'PENDING'], 2])
    expect((await readContact(ctx, ada.id)).emailSubscribedStatus).toBe('PENDING')
    expect((await listEventTypes(ctx)).filter((type) => type === 'subscription.created')).toHaveLength(4)
    await confirmSubscription({ ...ctx, address: '203.0.113.1' }, await readMailedToken(ctx, next))
    expect((await statuses()).toSorted()).toEqual(['CONFIRMED', 'PENDING'])
    expect((await proofs()).flat().filter(({ method }) => method === 'ADDRESS_CHANGED')).toMatchObject([
      { confirmedFrom: expect.toBeOneOf([null, '203.0.113.1']) },
      { confirmedFrom: expect.toBeOneOf([null, '203.0.113.1']) },
    ])
  })
})

describe('by a merge', () => {
  let survivor: Contact
  beforeEach(async () => {
    survivor = await createTestContact(ctx, { email: next })
    await confirmOn(ctx, lists[0], survivor)
  })
  const merge = () => mergeContacts(ctx, survivor.id, { contactId: ada.id })
  const statusesOfSurvivor = () => readStatusesOn(ctx, lists, survivor)

  test('subscriptions of the duplicate alone move with the proof', async () => {
    await merge()
    expect([await statusesOfSurvivor(), await countMails()]).toEqual([['CONFIRMED', 'CONFIRMED'], 0])
    const { data } = await listSubscriptionsOfContact(ctx, survivor.id, { limit: 100 })
    const methods = new Map(data.map(({ listId, consents }) => [listId, consents.map(({ method }) => method)]))
    expect(lists.map(({ id }) => methods.get(id))).toEqual([
      ['API', 'API'],
      ['ADDRESS_CHANGED', 'API'],
    ])
  })

  test('with confirmChangedAddress only these become PENDING, and are asked', async () => {
    await askAgain()
    await merge()
    expect([await statusesOfSurvivor(), await countMails()]).toEqual([['CONFIRMED', 'PENDING'], 1])
    await confirmSubscription(ctx, await readMailedToken(ctx, next))
    expect(await statusesOfSurvivor()).toEqual(['CONFIRMED', 'CONFIRMED'])
  })

  test('an opt-out of the survivor stands', async () => {
    await createSuppression(ctx, { email: next, reason: 'OPTED_OUT' })
    await merge()
    expect([await statusesOfSurvivor(), await countMails()]).toEqual([['UNSUBSCRIBED', 'UNSUBSCRIBED'], 0])
  })
})

describe('with confirmChangedAddress', () => {
  beforeEach(askAgain)

  test('an address that comes back is asked once in ten minutes', async () => {
    for (const email of [next, ada.email, next]) {
      for (const list of lists) await confirmOn(ctx, list, ada)
      await move(email)
    }
    expect([await countMails(), await countMails(ada.email), await statuses()]).toEqual([2, 2, ['PENDING', 'PENDING']])
  })

  test.each<[string, (rows: { externalId: string; email: string }[]) => Promise<unknown>]>([
    ['a batch', (contacts) => writeContactBatch(ctx, { contacts, onConflict: 'update' }, () => {})],
    [
      'an import',
      (rows) => {
        const lines = rows.map(({ externalId, email }) => `${externalId},${email}`)
        return runTestImport(ctx, `externalId,email\n${lines.join('\n')}\n`, { onConflict: 'update' })
      },
    ],
  ])('of two changes in %s, only the last address is asked', async (_, write) => {
    const last = `last-${next}`
    await write([next, last].map((email) => ({ externalId: 'x', email })))
    expect([await countMails(), await countMails(last), await statuses()]).toEqual([0, 2, ['PENDING', 'PENDING']])
    await confirmSubscription(ctx, await readMailedToken(ctx, last))
    expect((await statuses()).toSorted()).toEqual(['CONFIRMED', 'PENDING'])
    const proven = (await proofs()).flat().filter(({ confirmedAt, method }) => confirmedAt && method !== 'API')
    expect(proven).toMatchObject([{ email: last, method: 'ADDRESS_CHANGED' }])
  })

  test('an address that is left before it confirms is followed by the next one', async () => {
    await move('middle@example.com')
    await move()
    expect([await countMails(), await statuses()]).toEqual([2, ['PENDING', 'PENDING']])
    await confirmSubscription(ctx, await readMailedToken(ctx, next))
    expect((await statuses()).toSorted()).toEqual(['CONFIRMED', 'PENDING'])
    const proven = (await proofs()).flat().filter(({ confirmedAt, method }) => confirmedAt && method !== 'API')
    expect(proven).toMatchObject([{ email: next, method: 'ADDRESS_CHANGED' }])
  })

  test('an address that opted out is asked nothing', async () => {
    await createSuppression(ctx, { email: next, reason: 'OPTED_OUT' })
    await move()
    expect([await countMails(), await statuses()]).toEqual([0, ['UNSUBSCRIBED', 'UNSUBSCRIBED']])
  })

  test.each(['BOUNCED', 'MANUAL'] as const)('a lifted %s of the new address makes it PENDING only', async (reason) => {
    const { suppression } = await createSuppression(ctx, { email: next, reason })
    await move()
    await liftSuppression(ctx, suppression.id, { note: 'works again' })
    expect([await countMails(), await statuses()]).toEqual([0, ['PENDING', 'PENDING']])
  })

  test('a workspace without a verified owner asks no one, also by an import', async () => {
    const settings = { ...ctx.settings, requiresVerifiedEmail: true }
    await runTestImport({ ...ctx, settings }, `externalId,email\nx,${next}\n`, { onConflict: 'update' })
    expect([await countMails(), await statuses()]).toEqual([0, ['PENDING', 'PENDING']])
  })

  test('another spelling of the address asks nothing', async () => {
    await move(ada.email.toUpperCase())
    expect([await countMails(ada.email.toUpperCase()), await statuses()]).toEqual([0, ['CONFIRMED', 'CONFIRMED']])
  })
})

test('the proof of a change by an import names the import and who uploaded it', async () => {
  const apiKeyId = 'key_01kag7m3v9e8fs2t4w6x8y0z1b' as never
  const uploading: Ctx = { ...ctx, actor: { kind: 'apiKey', apiKeyId, role: 'MEMBER', rights: null } }
  const { id } = await queueTestImport(uploading, `externalId,email\nx,${next}\n`, { onConflict: 'update' })
  await runQueuedImport(ctx, id)
  const expected = { method: 'ADDRESS_CHANGED', importId: id, actorId: apiKeyId }
  expect((await proofs()).map(([newest]) => newest)).toMatchObject([expected, expected])
})

test('the proof names the user or API key that changed the address', async () => {
  const apiKeyId = 'key_01kag7m3v9e8fs2t4w6x8y0z1b' as never
  await updateContact({ ...ctx, actor: { kind: 'apiKey', apiKeyId, role: 'MEMBER', rights: null } }, ada.id, {
    email: next,
  })
  expect((await proofs()).map(([newest]) => newest?.actorId)).toEqual([apiKeyId, apiKeyId])
})

test('a contact without a subscription leaves its bounce behind', async () => {
  const { id, email } = await createTestContact(ctx, { email: 'former@example.com' })
  await createSuppression(ctx, { email, reason: 'BOUNCED' })
  expect((await readContact(ctx, id)).emailSubscribedStatus).toBe('BOUNCED')
  await updateContact(ctx, id, { email: next })
  expect((await readContact(ctx, id)).emailSubscribedStatus).toBe('NONE')
})

test.each([
  [undefined, []],
  ['each', ['subscription.unsubscribed', 'subscription.unsubscribed', 'tracking_consent.changed']],
])('an import emits what a change of address ends only with events=each: %s', async (events, types) => {
  const former = await createTestContact(ctx, { email: next })
  await optOutContact(ctx, former.id, {})
  await denyByContact(ctx, former, { method: 'PREFERENCES_PAGE', opens: true, clicks: true })
  await deleteContact(ctx, former.id)
  const before = await listEventTypes(ctx)
  await runTestImport(ctx, `externalId,email\nx,${next}`, { onConflict: 'update', events })
  const emitted = (await listEventTypes(ctx)).slice(before.length)
  expect(await statuses()).toEqual(['UNSUBSCRIBED', 'UNSUBSCRIBED'])
  expect(emitted.filter((type) => /^(subscription|tracking)/.test(type)).toSorted()).toEqual(types)
})

test('many changes of address at once need four statements each', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `${index}`)
  const file = ['externalId,email', ...names.map((name) => `${name},${name}@example.com`), ''].join('\n')
  await runTestImport(ctx, file, { listId: lists[0].id })
  const countStatements = async (moved: readonly string[], host: string) => {
    const batch = moved.map((name) => ({ externalId: name, email: `${name}@${host}` }))
    const write = (ctx: Ctx) => writeContactBatch(ctx, { contacts: batch, onConflict: 'update' }, () => {})
    return (await recordStatements(database, ctx, write)).length
  }
  const few = await countStatements(names.slice(0, 10), 'few.example')
  expect(((await countStatements(names, 'many.example')) - few) / 10).toBeLessThanOrEqual(4)
})
