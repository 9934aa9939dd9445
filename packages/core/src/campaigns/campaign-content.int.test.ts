/** Every combination of content that a campaign can have, and the mails that it becomes. */
import { describe, expect, test } from 'vitest'
import { createTestCampaign, createTestContact } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { isFullRun } from '@rapport/testing/runs.ts'
import { type CampaignId, newId } from '../kernel/ids.ts'
import type { Mail } from '../mail/mails.ts'
import { toRecipient } from '../rendering/recipient.ts'
import { loadCampaignRenderer, previewCampaign, renderTestMail, sendTestMail } from './campaign-mail.ts'
import { updateCampaign } from './campaigns.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const nothing = [undefined, null, '', ' \r\n\t', '{% comment %}later{% endcomment %}']
const empty = '{% if contact.tags contains "none" %}Hello{% endif %}'
const contents = [...nothing, empty, 'Hello', 'Hello <a href="{{ unsubscribeUrl }}">unsubscribe</a>']
const combinations = contents.flatMap((html) => contents.map((text) => ({ html, text })))

/** The text of each part of the mail as the recipient reads it, or the error. */
async function render(id: CampaignId): Promise<Record<'send' | 'sendTest' | 'preview', string[]>> {
  const contact = toRecipient(await createTestContact(ctx, { firstName: 'Bob' }))
  const { render } = await loadCampaignRenderer(ctx, id)
  const [sent] = await render([contact])
  if (!sent) throw new Error('No mail was rendered')
  const testMail = { id: newId('mai'), toAddress: 'me@example.com', data: { campaignId: id } } as Mail
  return {
    send:
      'fault' in sent ? [sent.fault.message] : 'parts' in sent.mail ? sent.mail.parts.map(decode) : toParts(sent.mail),
    sendTest: await renderTestMail(ctx, testMail).then(toParts, toError),
    preview: await previewCampaign(ctx, id, { contactId: contact.id }).then(toParts, toError),
  }
}

/** Decodes quoted-printable. */
const decode = (part: Uint8Array) => Buffer.from(part).toString().replaceAll('=\r\n', '').replaceAll('=3D', '=')
const toParts = (mail: { text: string; html?: string | null } | undefined) =>
  [mail?.text ?? '', mail?.html ?? []].flat()
const toError = (error: Error) => [error.message]

/** What each part must show, in the order of the parts. */
function findPatterns({ html, text }: (typeof combinations)[number]): RegExp[] {
  if (text === empty) return [/the text part is empty/]
  if (html === empty) return [/the HTML part is empty/]
  const hasHtml = !nothing.includes(html)
  if (!hasHtml && nothing.includes(text)) return [plain, plain]
  return hasHtml ? [content, content] : [content]
}

const plain = /News[^]*Hello (?:Bob|Ada),[^]*https:\/\/crm\.example\.com\/public\/unsubscribe\?token=[\w.-]+/
const content = /Hello[^]*https:\/\/crm\.example\.com\/public\/unsubscribe\?token=[\w.-]+/

/** Returns the parts that do not match their pattern; all parts if their number is wrong. */
const findWrongParts = (parts: string[], patterns: RegExp[]) =>
  parts.filter((part, index) => parts.length !== patterns.length || !patterns[index]?.test(part))

describe('a campaign', () => {
  test.each(combinations)('with the content %j has a body and a link in each part', async (given) => {
    const { id } = await createTestCampaign(ctx, { subject: 'News', html: 'Old', text: 'Old' })
    await updateCampaign(ctx, id, { html: given.html ?? null, text: given.text ?? null })
    const rendered = await render(id)
    const wrong = Object.values(rendered).flatMap((parts) => findWrongParts(parts, findPatterns(given)))
    expect(wrong).toEqual([])
    const queued = await sendTestMail(ctx, id, { email: 'me@example.com' }).catch(toError)
    expect(queued).toEqual(Object.values(given).includes(empty) ? rendered.sendTest : { queued: 1 })
  })

  // What is stored renders the same: at the gate, each content once.
  const created = isFullRun ? combinations : contents.map((content) => ({ html: content, text: content }))
  test.each(created)('created with the content %j becomes the same mail', async (given) => {
    const { id } = await createTestCampaign(ctx, { subject: 'News', ...given })
    expect(findWrongParts((await render(id)).send, findPatterns(given))).toEqual([])
  })
})

test('the postal address is in each part with a footer', async () => {
  await ctx.db.execute("update workspaces set postal_address = '12 Dorset Street'")
  const { id } = await createTestCampaign(ctx, { html: null, text: null })
  for (const parts of Object.values(await render(id))) {
    expect(parts).toEqual([expect.stringContaining('12 Dorset Street'), expect.stringContaining('12 Dorset Street')])
  }
})

test('a recipient whose subject or body is empty gets no mail, and the others do', async () => {
  const { id } = await createTestCampaign(ctx, {
    subject: '{{ contact.firstName }}',
    html: '{% if contact.lastName != blank %}<p>Hello</p>{% endif %}',
  })
  const contacts = [{ firstName: '', lastName: 'A' }, { firstName: 'Bob' }, { firstName: 'Eve', lastName: 'C' }]
  const recipients = await Promise.all(contacts.map(async (one) => toRecipient(await createTestContact(ctx, one))))
  const { render } = await loadCampaignRenderer(ctx, id)
  expect(await render(recipients)).toMatchObject([
    { fault: { field: 'subject', message: 'the subject is empty for this contact' } },
    { fault: { field: 'html', message: 'the HTML part is empty for this contact' } },
    { mail: { subject: 'Eve' } },
  ])
})

test('a preview and a test mail of a contact cannot unsubscribe the contact', async () => {
  const { id } = await createTestCampaign(ctx, { text: 'Hello {{ unsubscribeUrl }}' })
  const { sendTest, preview, send } = await render(id)
  const [testUrl, previewUrl, url] = [sendTest, preview, send].map((parts) => parts[0]?.split(' ')[1])
  expect(testUrl).toBe(previewUrl)
  expect(testUrl).not.toBe(url)
})
