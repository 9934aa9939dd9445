/** Every combination of content that a campaign can have, and the mails that it becomes. */
import { describe, expect, test } from 'vitest'
import { createTestCampaign, createTestContact } from '@rapport/testing/fixtures/factories.ts'
import { useTestCtx, useTestDatabase } from '@rapport/testing/fixtures/use-fixtures.ts'
import { type CampaignId, newId } from '../kernel/ids.ts'
import type { Mail } from '../mail/mails.ts'
import { loadCampaignRenderer, previewCampaign, renderTestMail, sendTestMail } from './campaign-mail.ts'
import { updateCampaign } from './campaigns.ts'
import { toRecipient } from './recipient.ts'

const database = useTestDatabase()
const ctx = useTestCtx(database)

const nothing = [undefined, null, '', ' \r\n\t', '{% comment %}later{% endcomment %}']
const empty = '{% if contact.tags contains "none" %}Hello{% endif %}'
const contents = [...nothing, empty, 'Hello', 'Hello <a href="{{ unsubscribeUrl }}">unsubscribe</a>']
const combinations = contents.flatMap((html) => contents.map((text) => ({ html, text })))

/** The parts of the mail as a recipient reads them, or the error. Encoded parts are quoted-printable. */
async function render(id: CampaignId): Promise<Record<'send' | 'sendTest' | 'preview', string[] | { error: string }>> {
  const contact = toRecipient(await createTestContact(ctx, { firstName: 'Bob' }))
  const { render } = await loadCampaignRenderer(ctx, id)
  const [sent] = await render([contact])
  if (!sent) throw new Error('No mail was rendered')
  const testMail = { id: newId('mai'), toAddress: 'me@example.com', data: { campaignId: id } } as Mail
  return {
    send:
      'fault' in sent
        ? { error: sent.fault.message }
        : 'parts' in sent.mail
          ? sent.mail.parts.map(decode)
          : toParts(sent.mail),
    sendTest: await renderTestMail(ctx, testMail).then(toParts, toError),
    preview: await previewCampaign(ctx, id, { contactId: contact.id }).then(toParts, toError),
  }
}

const decode = (part: Uint8Array) => Buffer.from(part).toString().replaceAll('=\r\n', '').replaceAll('=3D', '=')
const toParts = (mail: { text: string; html?: string | null } | undefined) =>
  [mail?.text ?? '', mail?.html ?? []].flat()
const toError = (error: Error) => ({ error: error.message })

describe('a campaign', () => {
  test.each(combinations)('with the content %j becomes a mail with a body and a link in each part', async (content) => {
    const { id } = await createTestCampaign(ctx, { subject: 'News', html: 'Old', text: 'Old' })
    await updateCampaign(ctx, id, { html: content.html ?? null, text: content.text ?? null })
    const rendered = await render(id)
    const emptyPart = content.text === empty ? 'text part' : content.html === empty ? 'HTML part' : undefined
    for (const [kind, parts] of Object.entries(rendered)) {
      if (emptyPart)
        expect([kind, parts]).toEqual([kind, { error: expect.stringContaining(`the ${emptyPart} is empty`) }])
      else {
        const isPlain = nothing.includes(content.html) && nothing.includes(content.text)
        expect(parts).toHaveLength(nothing.includes(content.html) && !isPlain ? 1 : 2)
        for (const part of [parts].flat()) {
          expect(part).toMatch(isPlain ? /News[^]*Hello (Bob|Ada),/ : /Hello/)
          expect(part).toMatch(/https:\/\/crm\.example\.com\/public\/unsubscribe\?token=[\w.-]+/)
        }
      }
    }
    const queued = sendTestMail(ctx, id, { email: 'me@example.com' })
    await (emptyPart ? expect(queued).rejects.toThrow(emptyPart) : expect(queued).resolves.toEqual({ queued: 1 }))
  })

  test.each(combinations)('created with the content %j becomes the same mail', async (content) => {
    const { id } = await createTestCampaign(ctx, { subject: 'News', ...content })
    const { send } = await render(id)
    const isEmpty = content.html === empty || content.text === empty
    if (isEmpty) expect(send).toHaveProperty('error')
    else for (const part of [send].flat()) expect(part).toMatch(/Hello[^]*\/public\/unsubscribe\?token=/)
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
  const [testUrl, previewUrl, url] = [sendTest, preview, send].map((parts) => String(parts).split(' ')[1])
  expect(testUrl).toBe(previewUrl)
  expect(testUrl).not.toBe(url)
})
