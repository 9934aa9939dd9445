import { eq, sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { sendTestMail } from '../../campaigns/campaign-mail.ts'
import { readStats } from '../../campaigns/campaign-stats.ts'
import { readContact } from '../../contacts/read-contact.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { mails } from '../../db/schema/index.ts'
import { type CampaignId, type ContactId, newId, uuidOf } from '../../kernel/ids.ts'
import { createRecipientToken } from '../../mail/bounces/recipient-token.ts'
import { hashProviderMessageId } from '../../mail/providers/provider-message-id.ts'
import type { Ctx } from '../../request/context.ts'
import { addSubscriber } from '../../lists/subscribers.ts'
import { readSuppressions } from '../../consent/consent-records.ts'
import { byStrictness } from '../../consent/suppression-rows.ts'
import { liftSuppression } from '../../suppressions/lift-suppression.ts'
import { listSuppressions } from '../../suppressions/suppressions.ts'
import { SuppressionQuery } from '../../suppressions/suppressions.schema.ts'
import { claimTestBatch, sendTestBatch, startTestCampaign } from '@rapport/testing/fixtures/campaign-work.ts'
import {
  createTestContact,
  createTestCtx,
  createTestList,
  createTestWorker,
  listEventTypes,
} from '@rapport/testing/fixtures/factories.ts'
import { reportByClient } from '@rapport/testing/fixtures/mail-reports.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { recordStatements } from '@rapport/testing/postgres/statements.ts'
import { deleteContact } from '../contacts/delete-contact.ts'
import { mergeContacts } from '../contacts/merge-contacts.ts'
import { reportMailEvent } from './mail-events.ts'
import type { MailReport } from './mail-report.ts'
import { reportRefusal } from './report-refusal.ts'

const database = useTestDatabase()
let ctx: Ctx
let campaignId: CampaignId
let ada: { id: ContactId; email: string }
let token: string
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  const { id, batches } = await startTestCampaign(ctx, 2)
  campaignId = id
  const batch = await claimTestBatch(ctx, batches[0], await createTestWorker(database.db))
  const { recipients } = await sendTestBatch(ctx, batch)
  const [first] = recipients.filter(({ email }) => email === 'person-1@example.com')
  if (!first) throw new Error('There is no person-1')
  ada = first
  const subject = { campaignId, contactId: ada.id }
  token = createRecipientToken(ctx.settings.keys, { workspaceId: ctx.workspaceId, subject, email: ada.email })
})

const report = (fields: Partial<MailReport> = {}, by = ctx) =>
  reportMailEvent(by, {
    type: 'BOUNCE',
    email: null,
    recipientToken: token,
    messageId: null,
    providerMessageId: null,
    class: 'HARD',
    code: '5.1.1',
    detail: '',
    ...fields,
  })

async function readSuppressed(...emails: string[]) {
  const reasons = await Promise.all(emails.map((email) => readSuppressions(ctx, { email })))
  return reasons.map((rows) => byStrictness(rows)[0]?.reason)
}

async function readBounces() {
  const { rows } = await database.db.execute<{ data: object }>(sql`
    select data from events where type like 'mail.%' and workspace_id = ${uuidOf(ctx.workspaceId)}`)
  return rows.map(({ data }) => data)
}

test('a bounce finds its campaign and its recipient by the token alone', async () => {
  await report()
  expect(await readContact(ctx, ada.id)).toMatchObject({ emailSubscribedStatus: 'BOUNCED' })
  expect(await readStats(ctx, campaignId)).toMatchObject({ bounced: 1 })
  expect(await readBounces()).toMatchObject([
    { email: ada.email, contactId: ada.id, campaignId, class: 'HARD', code: '5.1.1' },
  ])
})

test('a text that a server wrote is recorded as text that PostgreSQL reads', async () => {
  const detail = `550\0 5.1.1\n\ud800${'x'.repeat(1_987)}\u{1f4eb}`
  await report({ detail })
  await report({ detail, email: ada.email, class: 'SOFT' })
  const { rows } = await database.db.execute<{ detail: string }>(sql`
    select data ->> 'detail' as detail from events where type = 'mail.bounced'
      and workspace_id = ${uuidOf(ctx.workspaceId)}`)
  expect(new Set(rows.map((row) => row.detail))).toEqual(new Set([`550  5.1.1\n\ufffd${'x'.repeat(1_987)}`]))
})

test('a delivery report and a report of the provider about one bounce count once', async () => {
  await Promise.all([
    report({ email: 'PERSON-1@example.com' }),
    report(),
    reportByClient(ctx, {
      type: 'BOUNCE',
      email: ada.email,
      permanent: true,
      messageId: `<${campaignId}.${ada.id}@example.com>`,
    }),
  ])
  expect(await readBounces()).toHaveLength(1)
})

test.each([
  ['SOFT', 12],
  ['POLICY', 9],
] as const)('a report of the class %s takes at most %d statements', async (kind, most) => {
  const statements = await recordStatements(database, ctx, (by) => report({ class: kind, email: ada.email }, by))
  const texts = statements.map(({ text }) => text)
  expect(texts.slice(0, most)).toEqual(texts)
})

test('a complaint without an address counts for the recipient of the token', async () => {
  await updateContact(ctx, ada.id, { email: 'ada@new.example' })
  await report({ type: 'COMPLAINT', class: null, code: null })
  expect(await readSuppressed('ada@new.example', 'person-2@example.com')).toEqual(['COMPLAINED', undefined])
})

test('an address that a report names suppresses only the recipient of the token', async () => {
  await report({ email: 'person-2@example.com' })
  expect(await readSuppressed('person-2@example.com', ada.email)).toEqual([undefined, 'BOUNCED'])
})

test.each(['a', 'b+c', 'c0', ''])('an invalid token makes a report void: "%s"', async (recipientToken) => {
  await report({ recipientToken, email: ada.email, messageId: `<${campaignId}.${ada.id}@example.com>` })
  expect(await readSuppressed(ada.email)).toEqual([undefined])
  expect(await readBounces()).toEqual([])
})

test('a token of another workspace changes nothing', async () => {
  const other = await createTestCtx(database.db)
  await createTestContact(other, { email: ada.email })
  await report({ email: ada.email }, other)
  expect(await listEventTypes(other)).not.toContain('mail.bounced')
  expect(await readSuppressions(other, { email: ada.email })).toEqual([])
})

test('a bounce of a former address does not suppress the present one', async () => {
  await updateContact(ctx, ada.id, { email: 'ada@new.example' })
  await report()
  expect(await readSuppressed('ada@new.example')).toEqual([undefined])
  await report({ email: ada.email, class: 'HARD' })
  expect(await readSuppressed(ada.email, 'ada@new.example')).toEqual(['BOUNCED', undefined])
})

test.each(['its token', 'the id of the provider'])(
  'a complaint about a confirmation, by %s, holds for the present address',
  async (by) => {
    const { id: contactId } = await createTestContact(ctx, { email: 'eve@old.example' })
    await addSubscriber(ctx, (await createTestList(ctx)).id, { contactId, status: 'PENDING' })
    const isOwn = eq(mails.toAddress, 'eve@old.example')
    const sent = { providerMessageHash: hashProviderMessageId('one') }
    const [mail] = await database.db.update(mails).set(sent).where(isOwn).returning({ mailId: mails.id })
    if (!mail) throw new Error('There is no mail')
    const to = { workspaceId: ctx.workspaceId, subject: mail, email: 'eve@old.example' }
    const named =
      by === 'its token'
        ? { recipientToken: createRecipientToken(ctx.settings.keys, to) }
        : { recipientToken: null, providerMessageId: 'one' }
    await updateContact(ctx, contactId, { email: 'eve@new.example' })
    await report(named)
    expect(await readSuppressed('eve@old.example', 'eve@new.example')).toEqual(['BOUNCED', undefined])
    await report({ ...named, type: 'COMPLAINT', class: null })
    expect(await readSuppressed('eve@old.example', 'eve@new.example')).toEqual(['COMPLAINED', 'COMPLAINED'])
  },
)

test('a complaint about a test email is none of the contact that it shows', async () => {
  const email = 'colleague@example.com'
  await sendTestMail(ctx, campaignId, { email, contactId: ada.id })
  const [mail] = await database.db.select({ mailId: mails.id }).from(mails).where(eq(mails.toAddress, email))
  if (!mail) throw new Error('There is no mail')
  const to = { workspaceId: ctx.workspaceId, subject: mail, email }
  const recipientToken = createRecipientToken(ctx.settings.keys, to)
  await report({ recipientToken, type: 'COMPLAINT', class: null })
  expect(await readSuppressed(email, ada.email)).toEqual(['COMPLAINED', undefined])
})

test('a bounce for a merged contact counts for the address that it was sent to', async () => {
  const remaining = await createTestContact(ctx, { email: 'ada@other.example' })
  await mergeContacts(ctx, remaining.id, { contactId: ada.id })
  await report({ email: ada.email })
  expect(await readSuppressed(ada.email, 'ada@other.example')).toEqual(['BOUNCED', undefined])
})

test('a bounce of an erased person counts, and suppresses the hash of the address', async () => {
  await deleteContact(ctx, ada.id)
  const before = await listEventTypes(ctx)
  await report({ email: 'eve@example.com' })
  await report({ email: ada.email })
  await report({ email: ada.email, type: 'COMPLAINT', class: null })
  expect(await readSuppressed(ada.email, 'eve@example.com')).toEqual(['COMPLAINED', undefined])
  expect(await listEventTypes(ctx)).toEqual(before)
  expect(await readStats(ctx, campaignId)).toMatchObject({ bounced: 1, complained: 1 })
})

test('a refusal of an email to a person who was erased emits no event', async () => {
  await deleteContact(ctx, ada.id)
  const before = await listEventTypes(ctx)
  const bounce = { class: 'HARD', code: '5.1.1' } as const
  const refused = { email: ada.email, bounce, detail: '550 5.1.1 User unknown' }
  await reportRefusal(ctx, { ...refused, recipient: { campaignId, contactId: ada.id } })
  await reportRefusal(ctx, { ...refused, mailId: newId('mai') })
  expect(await readSuppressed(ada.email)).toEqual(['BOUNCED'])
  expect(await listEventTypes(ctx)).toEqual(before)
})

test('a refusal after the bounce was lifted suppresses the address again', async () => {
  const bounce = { class: 'HARD', code: '5.1.1' } as const
  const refuse = () =>
    reportRefusal(ctx, {
      email: ada.email,
      bounce,
      detail: '550 5.1.1 User unknown',
      recipient: { campaignId, contactId: ada.id },
    })
  await refuse()
  const { data } = await listSuppressions(ctx, SuppressionQuery.parse({ email: ada.email }))
  await liftSuppression(ctx, data[0]?.id ?? newId('sup'), { note: 'The mailbox is back' })
  expect(await readSuppressed(ada.email)).toEqual([undefined])
  await refuse()
  expect(await readSuppressed(ada.email)).toEqual(['BOUNCED'])
  expect(await readBounces()).toHaveLength(1)
})

test('a SOFT bounce does not replace a HARD one of the same email', async () => {
  await report()
  await report({ class: 'SOFT', code: '4.2.2' })
  expect(await readStats(ctx, campaignId)).toMatchObject({ bouncesByClass: { HARD: 1, SOFT: 0 } })
})

test.each(['SOFT', 'MESSAGE', 'POLICY'] as const)('one bounce of the class %s suppresses no address', async (kind) => {
  await report({ class: kind, code: null })
  expect(await readSuppressed(ada.email)).toEqual([undefined])
  expect(await readBounces()).toMatchObject([{ class: kind, permanent: false }])
})
