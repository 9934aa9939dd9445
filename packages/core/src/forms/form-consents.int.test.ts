/** A form grants tracking only with its own wording, and once the address is confirmed. */
import { eq } from 'drizzle-orm'
import {
  backdateMails,
  createTestCtx,
  createTestForm,
  createTestList,
  readMailedToken,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { beforeEach, expect, test } from 'vitest'
import { contacts, mails, subscriptions } from '../db/schema/index.ts'
import { openConfirmation } from '../lists/subscription-links.ts'
import { confirmSubscription } from '../lists/subscribe.ts'
import { confirmTrackingConsent, readTrackingConsent } from '../operations/contacts/tracking-consent.ts'
import type { Ctx } from '../request/context.ts'
import { listTrackingConsentOfContact } from '../consent/tracking/list-tracking-consent.ts'
import { submitForm } from './submissions.ts'

const database = useTestDatabase()
let ctx: Ctx
let email: string
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  email = `ada-${ctx.workspaceId.slice(-8)}@example.com`
})

const wording = 'Record what I open and click'
const fields = [
  { id: 'email', label: 'Email', type: 'EMAIL', mapsTo: 'email' },
  { id: 'news', label: 'Send me the news', type: 'CONSENT' },
  { id: 'tracking', label: wording, type: 'CONSENT', purpose: 'TRACKING' },
] as const

interface SubmitOptions {
  publicSignup?: 'OPEN' | 'CLOSED'
  hasList?: boolean
}

async function submit(values: object, { publicSignup = 'OPEN', hasList = true }: SubmitOptions = {}) {
  const list = hasList ? await createTestList(ctx, { publicSignup }) : undefined
  const form = await createTestForm(ctx, { fields: [...fields], listId: list?.id ?? null })
  await submitForm(ctx, form.id, { values: { email, ...values } })
  return { form, listId: list?.id }
}

async function readConsent() {
  const [contact] = await ctx.db.select().from(contacts).where(eq(contacts.email, email))
  if (!contact) throw new Error('there is no contact')
  const { opens, clicks } = await readTrackingConsent(ctx, contact.id)
  const proofs = (await listTrackingConsentOfContact(ctx, contact.id)).data[0]?.proofs ?? []
  return { opens, clicks, proofs: proofs.map((proof) => [proof.method, proof.wording, proof.confirmedAt !== null]) }
}
const readStatus = async () =>
  (await ctx.db.select().from(subscriptions).where(eq(subscriptions.workspaceId, ctx.workspaceId)))[0]?.status
const countMails = () => ctx.db.$count(mails, eq(mails.workspaceId, ctx.workspaceId))
const granted = { opens: 'GRANTED', clicks: 'GRANTED', proofs: [['FORM', [wording], true]] }

test('one email asks to confirm the subscription and the grant', async () => {
  await submit({ news: true, tracking: true })
  expect([await countMails(), await readStatus()]).toEqual([1, 'PENDING'])
  expect(await readConsent()).toEqual({ opens: 'UNKNOWN', clicks: 'UNKNOWN', proofs: [['FORM', [wording], false]] })
  const token = await readMailedToken(ctx, email)
  for (let times = 0; times < 2; times++) await confirmSubscription(ctx, token, ['opens', 'clicks'])
  expect([await readStatus(), await readConsent()]).toEqual(['CONFIRMED', granted])
})

test('the newsletter is confirmed alone, and its link can grant tracking later', async () => {
  await submit({ news: true, tracking: true })
  const token = await readMailedToken(ctx, email)
  expect(await confirmSubscription(ctx, token)).toEqual([])
  expect([await readStatus(), await readConsent()]).toMatchObject([
    'CONFIRMED',
    { opens: 'UNKNOWN', clicks: 'UNKNOWN' },
  ])
  expect(await confirmSubscription(ctx, token, ['clicks'])).toEqual(['clicks'])
  expect(await readConsent()).toMatchObject({ opens: 'UNKNOWN', clicks: 'GRANTED' })
})

test('a box that the email did not ask for grants nothing', async () => {
  await submit({ news: true })
  expect(await confirmSubscription(ctx, await readMailedToken(ctx, email), ['opens', 'clicks'])).toEqual([])
  expect(await readConsent()).toMatchObject({ opens: 'UNKNOWN', clicks: 'UNKNOWN' })
})

test.each<{ how: string; values: object; options: SubmitOptions }>([
  { how: 'without a list', values: { news: true }, options: { hasList: false } },
  { how: 'without consent to the list', values: {}, options: {} },
  { how: 'with a closed list', values: { news: true }, options: { publicSignup: 'CLOSED' } },
])('$how, the grant has an email of its own', async ({ values, options }) => {
  await submit({ ...values, tracking: true }, options)
  expect([await countMails(), await readStatus()]).toEqual([1, undefined])
  expect(await readConsent()).toMatchObject({ opens: 'UNKNOWN', clicks: 'UNKNOWN' })
  await confirmTrackingConsent(ctx, await readMailedToken(ctx, email))
  expect(await readConsent()).toEqual(granted)
})

test('without the consent to tracking, a visitor is subscribed, and nothing is granted', async () => {
  await submit({ news: true })
  await confirmSubscription(ctx, await readMailedToken(ctx, email))
  expect(await readStatus()).toBe('CONFIRMED')
  expect(await readConsent()).toEqual({ opens: 'UNKNOWN', clicks: 'UNKNOWN', proofs: [] })
})

test('an earlier link of the list grants nothing of which its email said nothing', async () => {
  const { form, listId } = await submit({ news: true })
  const earlier = await readMailedToken(ctx, email)
  expect(openConfirmation(ctx, earlier)).toMatchObject({ listId, tracking: [] })
  await backdateMails(ctx.db)
  await submitForm(ctx, form.id, { values: { email, news: true, tracking: true } })
  await confirmSubscription(ctx, earlier, ['opens', 'clicks'])
  expect([await readStatus(), await readConsent()]).toMatchObject(['CONFIRMED', { opens: 'UNKNOWN' }])
})

test.each([
  [[fields[0], { ...fields[2], required: true }], 'fields.1.required'],
  [[fields[0], fields[2], { ...fields[2], id: 'other' }], 'fields.2.purpose'],
  [[fields[1], fields[2]], 'fields.1.purpose'],
  [[{ ...fields[0], purpose: 'TRACKING' }], 'fields.0.purpose'],
] as const)('fields that cannot ask for a free consent are rejected', async (given, path) => {
  const create = async () => createTestForm(ctx, { fields: [...given] })
  const error = await create().catch((thrown: unknown) => thrown)
  const { issues } = error as { issues: { path: PropertyKey | PropertyKey[] }[] }
  expect(issues.map((issue) => [issue.path].flat().join('.'))).toEqual([path])
})

test('a list needs a consent to the list itself', async () => {
  const { id: listId } = await createTestList(ctx)
  await expect(createTestForm(ctx, { fields: [fields[0], fields[2]], listId })).rejects.toMatchObject({
    code: 'validation_error',
  })
})
