/** Only the person grants tracking, and a denial holds, whatever happens to the contact. */
import { eq } from 'drizzle-orm'
import {
  backdateMails,
  createTestContact,
  createTestCtx,
  listEventTypes,
  readMailedToken,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { lockContact } from '../../contacts/lock-contact.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { auditEntries, mails, trackingConsents } from '../../db/schema/index.ts'
import { type Ctx, inTransaction, publicContext } from '../../request/context.ts'
import type { AddressedContact } from '../../consent/consent-records.ts'
import { listTrackingConsentOfContact } from '../../consent/tracking/list-tracking-consent.ts'
import { requestGrant } from '../../consent/tracking/grant-tracking.ts'
import { type ChoiceSource, denyByContact } from '../../consent/tracking/tracking-consents.ts'
import { createSuppression } from '../../suppressions/suppressions.ts'
import { deleteContact } from './delete-contact.ts'
import { mergeContacts } from './merge-contacts.ts'
import { confirmTrackingConsent, readTrackingConsent, setTrackingConsent } from './tracking-consent.ts'

const database = useTestDatabase()
let ctx: Ctx
let person: Ctx
let ada: Contact
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  person = { ...publicContext(ctx, ctx.workspaceId), address: '192.0.2.7' }
  ada = await createTestContact(ctx, { email: `ada-${ctx.workspaceId.slice(-8)}@example.com` })
})

const both = { opens: true, clicks: true }
const fromPage: ChoiceSource = { method: 'PREFERENCES_PAGE', wording: ['Record what I open and click'], ...both }
/** As the preferences page does, with the contact locked. */
const asPerson = <Result>({ id }: Contact, act: (ctx: Ctx, contact: AddressedContact) => Promise<Result>) =>
  inTransaction(person, async (ctx) => {
    const locked = await lockContact(ctx, id)
    if (!locked) throw new Error(`There is no contact ${id}`)
    return act(ctx, locked)
  })
const ask = (contact = ada, scope: Partial<typeof both> = {}) =>
  asPerson(contact, (ctx, locked) => requestGrant(ctx, locked, { source: { ...fromPage, ...scope } }))
const tokenOf = (contact = ada) => readMailedToken(ctx, contact.email)
const confirm = (token: string) => confirmTrackingConsent(person, token)
async function grant(contact = ada, scope: Partial<typeof both> = {}) {
  await ask(contact, scope)
  await confirm(await tokenOf(contact))
}
const deny = (contact = ada, scope: Partial<typeof both> = {}) =>
  asPerson(contact, (ctx, locked) => denyByContact(ctx, locked, { method: 'PREFERENCES_PAGE', ...both, ...scope }))
const choices = async (contact: Pick<Contact, 'id'> = ada) => {
  const { opens, clicks } = await readTrackingConsent(ctx, contact.id)
  return { opens, clicks }
}
const readProofs = async (contact = ada) => (await listTrackingConsentOfContact(ctx, contact.id)).data[0]?.proofs
const countMails = () => ctx.db.$count(mails, eq(mails.workspaceId, ctx.workspaceId))
const invalid = { code: 'invalid_token' }

const granted = { opens: 'GRANTED', clicks: 'GRANTED' }
const denied = { opens: 'DENIED', clicks: 'DENIED' }
const unknown = { opens: 'UNKNOWN', clicks: 'UNKNOWN' }

describe('a grant', () => {
  test('counts once its email is confirmed, with proof of wording and addresses', async () => {
    expect(await choices()).toEqual(unknown)
    expect(await ask()).toBe(true)
    expect(await choices()).toEqual(unknown)
    const token = await tokenOf()
    for (let times = 0; times < 3; times++) await confirm(token)
    expect(await choices()).toEqual(granted)
    expect(await readProofs()).toEqual([
      expect.objectContaining({
        ...both,
        choice: 'GRANTED',
        method: 'PREFERENCES_PAGE',
        email: ada.email,
        address: '192.0.2.7',
        wording: fromPage.wording,
        actorId: null,
        confirmedAt: expect.any(String) as string,
        confirmedFrom: '192.0.2.7',
      }),
    ])
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'tracking_consent.changed'])
  })

  test('asked and confirmed twice at once sends one email and emits one event', async () => {
    expect((await Promise.all([ask(), ask(), ask()])).filter(Boolean)).toEqual([true])
    expect(await countMails()).toBe(1)
    const token = await tokenOf()
    await Promise.all([confirm(token), confirm(token), confirm(token)])
    expect(await listEventTypes(ctx)).toEqual(['contact.created', 'tracking_consent.changed'])
    expect(await ask()).toBe(false)
  })

  test('is of opens and clicks apart, and of no more than its email named', async () => {
    await grant(ada, { clicks: false })
    expect(await choices()).toEqual({ opens: 'GRANTED', clicks: 'UNKNOWN' })
    const bob = await createTestContact(ctx, { email: `bob-${ada.email}` })
    await ask(bob, { clicks: false })
    const token = await tokenOf(bob)
    await backdateMails(ctx.db)
    await ask(bob)
    await confirm(token)
    expect(await choices(bob)).toEqual({ opens: 'GRANTED', clicks: 'UNKNOWN' })
  })

  test('is not made by a link that is changed, or from before a denial', async () => {
    await ask()
    const token = await tokenOf()
    await deny(ada, { clicks: false })
    await expect(confirm(token)).rejects.toMatchObject(invalid)
    // Another request does not revive the earlier link.
    await backdateMails(ctx.db)
    await ask(ada, { clicks: false })
    await expect(confirm(token)).rejects.toMatchObject(invalid)
    expect(await choices()).toEqual({ opens: 'DENIED', clicks: 'UNKNOWN' })
    for (const wrong of ['', 'x', `${token}x`, token.slice(1)])
      await expect(confirm(wrong)).rejects.toMatchObject(invalid)
  })

  test('is not made by an API key, nor asked for at an address that bounced', async () => {
    const required = { code: 'consent_required' }
    await expect(setTrackingConsent(ctx, ada.id, { opens: 'GRANTED' })).rejects.toMatchObject(required)
    await expect(setTrackingConsent(ctx, ada.id, { opens: 'DENIED', clicks: 'GRANTED' })).rejects.toMatchObject(
      required,
    )
    expect(await choices()).toEqual(unknown)
    await createSuppression(ctx, { email: ada.email, reason: 'BOUNCED' })
    expect([await ask(), await countMails()]).toEqual([false, 0])
  })
})

describe('a denial', () => {
  test('by an operator counts at once and is audited once, with the note', async () => {
    await grant()
    for (let times = 0; times < 2; times++)
      await setTrackingConsent(ctx, ada.id, { opens: 'DENIED', clicks: 'DENIED', note: 'called' })
    expect(await choices()).toEqual(denied)
    const proofs = await readProofs()
    expect(proofs?.map(({ choice, method, note, address }) => [choice, method, note, address])).toEqual([
      ['DENIED', 'OPERATOR', 'called', null],
      ['GRANTED', 'PREFERENCES_PAGE', null, '192.0.2.7'],
    ])
    expect(await ctx.db.$count(auditEntries, eq(auditEntries.subjectId, ada.id))).toBe(1)
    expect((await listEventTypes(ctx)).filter((type) => type === 'tracking_consent.changed')).toHaveLength(2)
  })

  test('repeated, writes nothing, but ends the request that was made since', async () => {
    const readRow = () => ctx.db.select().from(trackingConsents).where(eq(trackingConsents.contactId, ada.id))
    await deny()
    const before = await readRow()
    await deny()
    expect(await readRow()).toEqual(before)
    await ask()
    const token = await tokenOf()
    await deny()
    await backdateMails(ctx.db)
    await ask()
    await expect(confirm(token)).rejects.toMatchObject(invalid)
    expect(await choices()).toEqual(denied)
  })

  test('holds after the contact is deleted and created again, until the person grants', async () => {
    await deny(ada, { opens: false })
    await deleteContact(ctx, ada.id)
    const again = await createTestContact(ctx, { email: ada.email.toUpperCase() })
    expect(await choices(again)).toEqual({ opens: 'UNKNOWN', clicks: 'DENIED' })
    expect(await listTrackingConsentOfContact(ctx, again.id)).toMatchObject({
      data: [{ opens: 'UNKNOWN', clicks: 'DENIED', updatedAt: null, proofs: [] }],
    })
    await grant(again)
    expect(await choices(again)).toEqual(granted)
  })

  test('holds for both addresses when the contact gets another one', async () => {
    await deny()
    const email = `new-${ada.email}`
    await updateContact(ctx, ada.id, { email })
    expect(await choices()).toEqual(denied)
    expect(await choices(await createTestContact(ctx, { email: ada.email }))).toEqual(denied)
    await deleteContact(ctx, ada.id)
    const again = await createTestContact(ctx, { email })
    expect(await choices(again)).toEqual(denied)
    await updateContact(ctx, again.id, { email: `third-${email}` })
    expect(await choices(again)).toEqual(denied)
  })
})

test('a grant ends with the address that confirmed it, and its link is invalid then', async () => {
  await grant()
  await updateContact(ctx, ada.id, { email: `new-${ada.email}` })
  expect(await choices()).toEqual(unknown)
  expect((await readProofs())?.map(({ choice, method }) => [choice, method])).toEqual([
    ['UNKNOWN', 'ADDRESS_CHANGED'],
    ['GRANTED', 'PREFERENCES_PAGE'],
  ])
  const bob = await createTestContact(ctx, { email: `bob-${ada.email}` })
  await ask(bob)
  const token = await tokenOf(bob)
  await updateContact(ctx, bob.id, { email: `new-${bob.email}` })
  await expect(confirm(token)).rejects.toMatchObject(invalid)
})

test.each([
  ['GRANTED', 'UNKNOWN', 'GRANTED'],
  ['GRANTED', 'DENIED', 'DENIED'],
  ['UNKNOWN', 'GRANTED', 'UNKNOWN'],
  ['UNKNOWN', 'DENIED', 'DENIED'],
  ['DENIED', 'GRANTED', 'DENIED'],
] as const)('merging %s with a duplicate that is %s makes %s', async (one, other, merged) => {
  const duplicate = await createTestContact(ctx, { email: `duplicate-${ada.email}` })
  for (const [contact, choice] of [
    [ada, one],
    [duplicate, other],
  ] as const) {
    if (choice === 'GRANTED') await grant(contact, { clicks: false })
    if (choice === 'DENIED') await deny(contact, { clicks: false })
  }
  await mergeContacts(ctx, ada.id, { contactId: duplicate.id })
  expect(await choices()).toEqual({ opens: merged, clicks: 'UNKNOWN' })
})

test('a link from before the denial of a duplicate grants nothing after a merge', async () => {
  const duplicate = await createTestContact(ctx, { email: `duplicate-${ada.email}` })
  await ask()
  const token = await tokenOf()
  await deny(duplicate)
  await mergeContacts(ctx, ada.id, { contactId: duplicate.id })
  await expect(confirm(token)).rejects.toMatchObject(invalid)
  expect(await choices()).toEqual(denied)
})
