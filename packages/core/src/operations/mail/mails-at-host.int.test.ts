/** Under which host the links of mails are. */
import {
  createTestCampaign,
  createTestContact,
  createTestCtx,
  createTestList,
} from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { addVerifiedHost } from '@rapport/testing/network/sending-domains.ts'
import { desc, eq } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { loadCampaignRenderer, previewCampaign, sendTestMail } from '../../campaigns/campaign-mail.ts'
import { preferencesUrl } from '../../consent/preferences-links.ts'
import { hosts, mails } from '../../db/schema/index.ts'
import { updateDomain } from '../../domains/domains.ts'
import { withPagesUrl } from '../../domains/hosts/pages-url.ts'
import type { DomainRow } from '../../domains/domain-records.ts'
import { subscribe } from '../../lists/subscribe.ts'
import { toRecipient } from '../../rendering/recipient.ts'
import { type Ctx, pagesUrlOf } from '../../request/context.ts'
import { createInvite } from '../../team/invites.ts'
import { chooseTracking } from '../preferences/track-preferences.ts'
import { renderMail } from './render-mail.ts'

const database = useTestDatabase()
const host = 'https://news.client.example'
const installation = 'https://crm.example.com'

let ctx: Ctx
let domain: DomainRow
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
  await database.db.delete(hosts)
  domain = await addVerifiedHost(ctx, 'client.example', 'news.client.example')
})

/** The bases of the links to Rapport in a text. */
const basesIn = (text: string) => [...new Set(text.match(/https:\/\/(?:news\.client|crm\.)[a-z.]+/g))]

const html = `<p><a href="https://shop.example/">Shop</a> <a href="{{ preferencesUrl }}">Preferences</a>
<a href="${installation}/public/preferences">Former</a></p>`

async function renderCampaign(): Promise<string> {
  const { id } = await createTestCampaign(ctx, { subject: 'News', html, text: '{{ unsubscribeUrl }}' })
  const { render } = await loadCampaignRenderer(ctx, id)
  const recipient = toRecipient(await createTestContact(ctx))
  const [rendered] = await render([{ ...recipient, tracking: { opens: 'PERSON', clicks: 'PERSON' } }])
  if (!rendered || 'fault' in rendered) throw new Error('not rendered')
  const { mail } = rendered
  const body = 'parts' in mail ? Buffer.concat(mail.parts).toString() : `${mail.html}${mail.text}`
  // Quoted-printable.
  const decoded = body.replace(/=\r?\n/g, '').replaceAll('=3D', '=')
  return `${JSON.stringify(mail.headers)}${decoded}`
}

async function renderLatest(): Promise<string> {
  const ofWorkspace = eq(mails.workspaceId, ctx.workspaceId)
  const [mail] = await database.db.select().from(mails).where(ofWorkspace).orderBy(desc(mails.createdAt)).limit(1)
  const rendered = mail && (await renderMail(ctx, mail))
  return `${mail?.kind} ${rendered?.html} ${rendered?.text} ${JSON.stringify(rendered?.headers)}`
}

test('a campaign mail has its pixel, links and List-Unsubscribe under the host', async () => {
  const mail = await renderCampaign()
  for (const path of ['open', 'click', 'preferences', 'unsubscribe']) expect(mail).toContain(`${host}/public/${path}?`)
  expect(mail).toContain(`"List-Unsubscribe":"<${host}/public/unsubscribe?token=`)
  // A link to a page of Rapport is not tracked, at whichever host.
  expect(mail).toContain(`href="${installation}/public/preferences"`)
  expect(mail.match(/public\/click/g)).toHaveLength(1)
})

test('a preview, a test mail and the mails to visitors are under the host', async () => {
  const { id } = await createTestCampaign(ctx, { subject: 'News', html: '{{ preferencesUrl }} {{ unsubscribeUrl }}' })
  const preview = await previewCampaign(ctx, id, {})
  expect(basesIn(`${preview.html}`)).toEqual([host])
  await sendTestMail(ctx, id, { email: 'test@example.com' })
  expect(basesIn(await renderLatest())).toEqual([host])

  const list = await createTestList(ctx)
  await subscribe(ctx, list.id, { email: 'ada@example.com', firstName: '', lastName: '' })
  const confirmation = await renderLatest()
  expect(confirmation).toMatch(/^CONFIRMATION/)
  expect(basesIn(confirmation)).toEqual([host])

  const contact = await createTestContact(ctx)
  const token = new URL(preferencesUrl(ctx, { contactId: contact.id, email: contact.email })).searchParams.get('token')
  await chooseTracking(ctx, { token: token ?? '', allowed: ['opens'], wording: { opens: 'Opens', clicks: 'Clicks' } })
  const consent = await renderLatest()
  expect(consent).toMatch(/^TRACKING_CONSENT/)
  expect(basesIn(consent)).toEqual([host])
})

test('a mail about an account stays at the host of the installation', async () => {
  await createInvite(ctx, { email: 'grace@example.com', role: 'MEMBER' })
  const invite = await renderLatest()
  expect(invite).toMatch(/^INVITE/)
  expect(basesIn(invite)).toEqual([installation])
})

test('mails of another workspace, and after the host is given up, are at PUBLIC_URL', async () => {
  expect(basesIn(await renderCampaign())).toContain(host)
  await updateDomain(ctx, domain.id, { host: null })
  expect(basesIn(await renderCampaign())).toEqual([installation])
  ctx = await createTestCtx(database.db)
  expect(basesIn(await renderCampaign())).toEqual([installation])
})

test('the host is read once for many mails', async () => {
  expect(pagesUrlOf(await withPagesUrl(ctx))).toBe(host)
  await database.db.delete(hosts)
  expect(pagesUrlOf(await withPagesUrl(ctx))).toBe(host)
})

test('of two hosts, new links are under the one that was taken first', async () => {
  await addVerifiedHost(ctx, 'second.example', 'a.second.example')
  expect(pagesUrlOf(await withPagesUrl(ctx))).toBe(host)
  await updateDomain(ctx, domain.id, { host: null })
  expect(pagesUrlOf(await withPagesUrl(ctx))).toBe('https://a.second.example')
})
