import { createTestCampaign, createTestContact, createTestCtx } from '@rapport/testing/fixtures/factories.ts'
import { useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { eq, sql } from 'drizzle-orm'
import { Parser } from 'htmlparser2'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { createCustomField } from '../custom-fields/custom-fields.ts'
import { campaigns, workspaces } from '../db/schema/index.ts'
import type { Ctx } from '../request/context.ts'
import { timestampNow } from '../kernel/values/timestamps.ts'
import { removeEmptyLinks } from '../rendering/empty-links.ts'
import { toRecipient } from '../rendering/recipient.ts'
import { templateVariables } from '../rendering/template-variables.ts'
import { byId } from '../request/by-id.ts'
import { suspendWorkspace } from '../workspaces/suspension.ts'
import { loadCampaignRenderer } from './campaign-mail.ts'
import { updateCampaign } from './campaigns.ts'
import type { CampaignInput } from './campaigns.schema.ts'
import { openWebVersion, renderWebVersion, webVersionUrl } from './web-version.ts'

const database = useTestDatabase()
let ctx: Ctx
beforeEach(async () => {
  ctx = await createTestCtx(database.db)
})

/** Creates a campaign that was sent so many days ago. */
async function createSent(input: Partial<CampaignInput>, { daysAgo = 0 } = {}) {
  const { id } = await createTestCampaign(ctx, { subject: 'News', ...input })
  const sentAt = sql`now() - make_interval(days => ${daysAgo}, secs => 60)`
  await ctx.db
    .update(campaigns)
    .set({ status: 'SENT', sentAt, completedAt: sentAt, updatedAt: sentAt })
    .where(byId(campaigns, ctx, id))
  return id
}
const open = (id: Awaited<ReturnType<typeof createSent>>) => {
  const token = new URL(webVersionUrl(ctx, id)).searchParams.get('token') ?? ''
  return renderWebVersion(ctx, openWebVersion(ctx, token))
}

test('a web version with every merge field shows no person', async () => {
  await createCustomField(ctx, { key: 'seat', label: 'Seat', type: 'TEXT', options: [] })
  const contact = await createTestContact(ctx, {
    email: 'zeta@example.com',
    firstName: 'Zeta',
    lastName: 'Zeta',
    phone: '+44 20 7946 0999',
    company: 'Zeta',
    tags: ['Zeta'],
    customFieldValues: { seat: 'Zeta' },
  })
  const names = [...templateVariables.map(({ name }) => name), 'contact.seat', 'contact.customFieldValues.seat']
  const shown = names.map((name) => `<p>${name}=[{{ ${name} }}]</p>`).join('\n')
  const greeting =
    '<p>Hello {{ contact.firstName | default: "there" }}, {% if contact.firstName != "" %}dear{% endif %}</p>'
  const id = await createSent({ subject: 'For {{ contact.firstName }} all', html: greeting + shown, text: null })
  const { render } = await loadCampaignRenderer(ctx, id)
  expect(JSON.stringify(await render([toRecipient(contact)]))).toContain('For Zeta all')

  const page = await open(id)
  expect(JSON.stringify(page)).not.toMatch(/Zeta|7946|Ada|Lovelace|con_\w{26}|@example|token=|unsubscribe\?|default/i)
  expect(page.html).toContain('Hello there, </p>')
  for (const { name } of templateVariables.filter((one) => one.name.startsWith('contact.')))
    expect(page.html).toContain(`${name}=[]`)
  expect(page.html).toContain('contact.seat=[]')
  expect(page.html).toContain(`campaign.id=[${id}]`)
})

test('links to unsubscribe and to the preferences are left out, also in the footer', async () => {
  const html =
    '<p>Hi</p><a class="x" href="{{ unsubscribeUrl }}">Leave <b>now</b></a> · <a href="{{ preferencesUrl }}">Choose</a> <a href="https://shop.example/">Shop</a>'
  expect((await open(await createSent({ html }))).html).toBe('<p>Hi</p> ·  <a href="https://shop.example/">Shop</a>')
  expect((await open(await createSent({ html: '<p>Hi</p>' }))).html).toBe('<p>Hi</p>')
  const onlyText = await open(await createSent({ text: 'Hello {{ unsubscribeUrl }}' }))
  expect(onlyText).toMatchObject({ html: undefined, text: 'Hello ' })
})

test('the link is in the mail, as it is, and empty with webVersion: false', async () => {
  const html = '<a href="{{ webVersionUrl }}">Read</a>{% if webVersionUrl %}yes{% endif %}'
  const render = async (input: Partial<CampaignInput>) => {
    const { id } = await createTestCampaign(ctx, { subject: 'News', html, ...input })
    const renderer = await loadCampaignRenderer(ctx, id)
    const recipient = toRecipient(await createTestContact(ctx))
    const [rendered] = await renderer.render([{ ...recipient, tracking: { opens: 'PERSON', clicks: 'PERSON' } }])
    const parts = rendered && 'mail' in rendered && 'parts' in rendered.mail ? rendered.mail.parts : []
    const text = Buffer.concat(parts)
      .toString()
      .replace(/=\r?\n/g, '')
      .replaceAll('=3D', '=')
    return { text, url: webVersionUrl(ctx, id) }
  }
  const { text, url } = await render({})
  expect(text).toContain(`<a href="${url}">Read</a>yes`)
  const without = await render({ webVersion: false })
  expect(without.text).toContain('<a href="">Read</a>')
  expect(without.text).not.toContain('yes')
})

test('there is a page from the sending on, until 90 days after the last email', async () => {
  const notFound = { code: 'not_found' }
  const { id: draft } = await createTestCampaign(ctx, { html: '<p>Hi</p>' })
  await expect(open(draft)).rejects.toMatchObject(notFound)
  expect((await open(await createSent({ html: '<p>Hi</p>' }, { daysAgo: 89 }))).html).toBe('<p>Hi</p>')
  const old = await createSent({ html: '<p>Hi</p>' }, { daysAgo: 90 })
  await expect(open(old)).rejects.toMatchObject(notFound)
  // A retry mails again, with the same link.
  await ctx.db
    .update(campaigns)
    .set({ status: 'SENDING', completedAt: null })
    .where(byId(campaigns, ctx, old))
  expect((await open(old)).html).toBe('<p>Hi</p>')
  await expect(open(await createSent({ webVersion: false }))).rejects.toMatchObject(notFound)
  await expect(open(await createSent({ subject: '{{ contact.firstName }}' }))).rejects.toMatchObject(notFound)
})

test('a suspended workspace shows no page, a deleted one has none', async () => {
  const id = await createSent({ html: '<p>Hi</p>' })
  await suspendWorkspace(ctx)
  await expect(open(id)).rejects.toMatchObject({ code: 'workspace_suspended' })
  const isOwn = eq(workspaces.id, ctx.workspaceId)
  await ctx.db.update(workspaces).set({ suspendedAt: null, deletedAt: timestampNow() }).where(isOwn)
  await expect(open(id)).rejects.toMatchObject({ code: 'not_found' })
})

test.each([
  ['<a href="">x</a>y', 'y'],
  ['<A HREF=" "><img src="x"></A>y', 'y'],
  ['<a name="top">x</a>', '<a name="top">x</a>'],
  ['<!-- <a href="">x</a> -->', '<!-- <a href="">x</a> -->'],
  ['a<a href="">never closed', 'a'],
  ['<p>a<a href="">x</p><p>b</p>', '<p>a</p><p>b</p>'],
  ['<a href="">x<a href="/">y</a>z', '<a href="/">y</a>z'],
  ['<a href="&#32;">x</a>y', 'y'],
  ['<a href="/">x</a>', '<a href="/">x</a>'],
])('of %s is left: %s', (html, left) => expect(removeEmptyLinks(html)).toBe(left))

test('links that lead nowhere are removed in the rendering thread', async () => {
  const id = await createSent({ html: '<p>Hi <a href="{{ unsubscribeUrl }}">Leave</a></p>' })
  const parse = vi.spyOn(Parser.prototype, 'end')
  onTestFinished(() => parse.mockRestore())
  expect((await open(id)).html).toBe('<p>Hi </p>')
  expect(parse).not.toHaveBeenCalled()
})

test('of a campaign that was sent, the page alone can be switched off', async () => {
  const id = await createSent({ html: '<p>Hi</p>' })
  await expect(updateCampaign(ctx, id, { webVersion: false, subject: 'Other' })).rejects.toThrow('changed')
  expect(await open(id)).toMatchObject({ subject: 'News' })
  expect(await updateCampaign(ctx, id, { webVersion: false })).toMatchObject({ status: 'SENT', webVersion: false })
  await expect(open(id)).rejects.toThrow('Page not found')
})
