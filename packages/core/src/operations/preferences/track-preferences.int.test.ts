import { createTestContact, listEventTypes, readMailedToken } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import type { Contact } from '../../contacts/contacts.schema.ts'
import { updateContact } from '../../contacts/update-contact.ts'
import { mailRequests, mails, workspaces } from '../../db/schema/index.ts'
import { preferencesUrl } from '../../consent/preferences-links.ts'
import { listTrackingConsentOfContact } from '../../consent/tracking/list-tracking-consent.ts'
import type { TrackedAction } from '../../consent/tracking/tracking-level.ts'
import { confirmTrackingConsent, readTrackingConsent } from '../contacts/tracking-consent.ts'
import { renderMail } from '../mail/render-mail.ts'
import { readPreferences } from './read-preferences.ts'
import { chooseTracking } from './track-preferences.ts'
import { timestampNow } from '../../kernel/values/timestamps.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)
const wording = { opens: 'When I open the emails', clicks: 'When I click links' }
let ada: Contact
let token: string
beforeEach(async () => {
  ada = await createTestContact(ctx, { email: 'ada@example.com' })
  const url = new URL(preferencesUrl(ctx, { contactId: ada.id, email: ada.email }))
  token = url.searchParams.get('token') ?? ''
})

const choose = (...allowed: TrackedAction[]) => chooseTracking(ctx, { token, allowed, wording })
const confirm = async () => confirmTrackingConsent(ctx, await readMailedToken(ctx, ada.email))
const readChoices = async () => {
  const { opens, clicks } = await readTrackingConsent(ctx, ada.id)
  return { opens, clicks }
}
const countChanges = async () =>
  (await listEventTypes(ctx)).filter((type) => type === 'tracking_consent.changed').length
const countMails = () => database.db.$count(mails, eq(mails.workspaceId, ctx.workspaceId))

test('a denial counts at once, twice as once, with the wording in its proof', async () => {
  expect(await Promise.all([choose(), choose(), choose()])).toEqual(['SAVED', 'SAVED', 'SAVED'])
  expect(await readChoices()).toEqual({ opens: 'DENIED', clicks: 'DENIED' })
  expect([await countChanges(), await countMails()]).toEqual([1, 0])
  const { data } = await listTrackingConsentOfContact(ctx, ada.id)
  expect(data[0]?.proofs).toMatchObject([
    { choice: 'DENIED', method: 'PREFERENCES_PAGE', wording: Object.values(wording), actorId: null },
  ])
})

test('the email is in the language of the person, the page or the workspace', async () => {
  await ctx.db.update(workspaces).set({ locale: 'de' }).where(eq(workspaces.id, ctx.workspaceId))
  const renderIn = async (locale?: string) => {
    await ctx.db.delete(mailRequests).where(eq(mailRequests.workspaceId, ctx.workspaceId))
    await ctx.db.delete(mails).where(eq(mails.workspaceId, ctx.workspaceId))
    await chooseTracking(ctx, { token, allowed: ['opens'], wording, ...(locale && { locale }) })
    const [mail] = await ctx.db.select().from(mails).where(eq(mails.workspaceId, ctx.workspaceId))
    return mail && (await renderMail(ctx, mail))?.headers?.['Content-Language']
  }
  expect([await renderIn(), await renderIn('fr')]).toEqual(['de', 'fr'])
  await updateContact(ctx, ada.id, { locale: 'it' })
  expect(await renderIn('fr')).toBe('it')
})

test('a grant counts once the person uses the link in an email', async () => {
  expect(await choose('opens')).toBe('ASKED')
  expect(await readChoices()).toEqual({ opens: 'UNKNOWN', clicks: 'DENIED' })
  await confirm()
  expect(await readChoices()).toEqual({ opens: 'GRANTED', clicks: 'DENIED' })
  expect(await readPreferences(ctx, token)).toMatchObject({
    holder: {
      tracking: [
        { choice: 'GRANTED', level: 'PERSON' },
        { choice: 'DENIED', level: 'OFF' },
      ],
    },
  })
  expect([await choose('opens'), await countMails()]).toEqual(['SAVED', 1])
})

test('a denial ends a request, and a second request soon after sends nothing', async () => {
  await choose('opens', 'clicks')
  await choose()
  await expect(confirm()).rejects.toMatchObject({ code: 'invalid_token' })
  expect([await choose('clicks'), await countMails()]).toEqual(['NOT_ASKED', 1])
  expect(await readChoices()).toEqual({ opens: 'DENIED', clicks: 'DENIED' })
})

test('the same choice once more leaves the link in the email as it is', async () => {
  expect([await choose('opens'), await choose('opens')]).toEqual(['ASKED', 'NOT_ASKED'])
  await confirm()
  expect(await readChoices()).toEqual({ opens: 'GRANTED', clicks: 'DENIED' })
})

test('a denial counts in a suspended workspace, and a grant is refused', async () => {
  await database.db.update(workspaces).set({ suspendedAt: timestampNow() }).where(eq(workspaces.id, ctx.workspaceId))
  await expect(choose('opens')).rejects.toMatchObject({ code: 'workspace_suspended' })
  expect(await readChoices()).toEqual({ opens: 'UNKNOWN', clicks: 'DENIED' })
})

test('the link of a former address chooses nothing', async () => {
  await updateContact(ctx, ada.id, { email: 'ada@new.example' })
  await expect(choose()).rejects.toMatchObject({ code: 'invalid_token' })
  expect(await readChoices()).toEqual({ opens: 'UNKNOWN', clicks: 'UNKNOWN' })
})

test.each([
  ['OFF', 'OFF'],
  ['ANONYMOUS', 'ANONYMOUS'],
  ['PERSON', 'PERSON'],
] as const)('without a choice, the page shows what the setting %s of the workspace means', async (setting, level) => {
  const { db } = database
  await db.update(workspaces).set({ trackingWithoutConsent: setting }).where(eq(workspaces.id, ctx.workspaceId))
  const shown = { choice: 'UNKNOWN', level }
  expect(await readPreferences(ctx, token)).toMatchObject({ holder: { tracking: [shown, shown] } })
})
