import { createTestContact, createTestDeal, createTestList } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { desc, eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { auditEntries, mails } from '../../db/schema/index.ts'
import { addSubscriber } from '../../lists/subscribers.ts'
import { preferencesUrl } from '../../consent/preferences-links.ts'
import { suppress } from '../../suppressions/suppress.ts'
import { deleteContact } from '../contacts/delete-contact.ts'
import { mergeContacts } from '../contacts/merge-contacts.ts'
import { PersonExport } from '../contacts/person-export.schema.ts'
import { renderMail } from '../mail/render-mail.ts'
import { chooseTracking } from './track-preferences.ts'
import { renderPersonalDataMail, requestPersonalData } from './personal-data-mail.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const email = 'ada@example.com'
let ada: Contact
let token: string
beforeEach(async () => {
  ada = await createTestContact(ctx, { email, firstName: 'Ada' })
  const url = new URL(preferencesUrl(ctx, { contactId: ada.id, email }))
  token = url.searchParams.get('token') ?? ''
})

const request = (locale = 'en') => requestPersonalData({ ...ctx, address: '203.0.113.7' }, { token, locale })
const countMails = () => database.db.$count(mails, eq(mails.workspaceId, ctx.workspaceId))
async function renderLatest() {
  const [mail] = await database.db
    .select()
    .from(mails)
    .where(eq(mails.workspaceId, ctx.workspaceId))
    .orderBy(desc(mails.createdAt))
    .limit(1)
  return mail && renderMail(ctx, mail)
}

test('the email has the whole export of the person, and goes to the address on file', async () => {
  const { id: listId } = await createTestList(ctx)
  await addSubscriber(ctx, listId, { contactId: ada.id, status: 'CONFIRMED' })
  const deal = await createTestDeal(ctx, { contactId: ada.id })
  await createTestContact(ctx, { email: 'grace@example.com' })
  expect(await request()).toBe(true)
  const mail = await renderLatest()
  expect(mail).toMatchObject({ to: { address: email }, attachment: { name: 'personal-data.json' } })
  const content = mail?.attachment?.content ?? ''
  expect(PersonExport.parse(JSON.parse(content))).toMatchObject({
    contact: { id: ada.id, email },
    subscriptions: [{ listId }],
    deals: [{ id: deal.id }],
  })
  expect(content).not.toContain('grace@example.com')
  expect(`${mail?.text}${mail?.html}`).not.toMatch(/Ada|https?:/)
  const [entry] = await database.db
    .select()
    .from(auditEntries)
    .where(eq(auditEntries.workspaceId, ctx.workspaceId))
    .orderBy(desc(auditEntries.id))
    .limit(1)
  expect(entry).toMatchObject({ action: 'contact.exported', actorKind: 'public', subjectId: ada.id, address: null })
})

test('the email is in the language of the person, then of the page', async () => {
  await request('de-AT')
  const mail = await renderLatest()
  expect(mail?.subject).toMatch(/^Ihre Daten bei /)
  expect(mail?.html).toContain('<html lang="de-AT"')
  await updateContact(ctx, ada.id, { locale: 'it' })
  expect((await renderLatest())?.subject).toMatch(/^I Suoi dati presso /)
})

test('twice at once or soon after sends one email, and tracking has a limit of its own', async () => {
  const results = await Promise.all([request(), request(), request()])
  expect(results.filter(Boolean)).toEqual([true])
  expect([await request(), await countMails()]).toEqual([false, 1])
  const wording = { opens: 'o', clicks: 'c' }
  expect(await chooseTracking(ctx, { token, allowed: ['opens'], wording })).toBe('ASKED')
  const sent = await database.db.select().from(mails).where(eq(mails.workspaceId, ctx.workspaceId))
  expect(sent.map(({ kind }) => kind).toSorted()).toEqual(['PERSONAL_DATA', 'TRACKING_CONSENT'])
})

test('nothing goes to another address: changed before, after, or merged', async () => {
  await request()
  ada = await updateContact(ctx, ada.id, { email: 'ada@new.example' })
  expect(await renderLatest()).toBeUndefined()
  await expect(request()).rejects.toMatchObject({ code: 'invalid_token' })
  ada = await updateContact(ctx, ada.id, { email })
  const survivor = await createTestContact(ctx, { email: 'countess@example.com' })
  await mergeContacts(ctx, survivor.id, { contactId: ada.id })
  expect(await renderLatest()).toBeUndefined()
})

test('a deleted contact has no data to send, and an address that bounced gets none', async () => {
  await suppress(ctx, [{ email, reason: 'BOUNCED', source: 'MAIL_EVENT' }], { emitsEvents: true })
  expect([await request(), await countMails()]).toEqual([false, 0])
  await deleteContact(ctx, ada.id)
  await expect(request()).rejects.toMatchObject({ code: 'invalid_token' })
})

test('a person who wants no emails still gets their data', async () => {
  await suppress(ctx, [{ email, reason: 'OPTED_OUT', source: 'LINK' }], { emitsEvents: true })
  expect(await request()).toBe(true)
  expect((await renderLatest())?.attachment?.content).toContain(email)
})

test('data that is too large is not attached, and the email says what to do', async () => {
  for (let count = 0; count < 4; count++) await createTestDeal(ctx, { contactId: ada.id })
  await request()
  const [mail] = await database.db.select().from(mails).where(eq(mails.workspaceId, ctx.workspaceId))
  const rendered = mail && (await renderPersonalDataMail(ctx, mail, { maxLength: 1_000 }))
  expect([rendered?.attachment, rendered?.text]).toEqual([undefined, expect.stringContaining('too large for an email')])
})
