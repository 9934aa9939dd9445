import { expect, test } from 'vitest'
import { inboxPage, mailDocument, textDocument } from './pages.ts'

const mail = {
  id: '20261121T091756088Z-000000',
  receivedAt: '2026-11-21T09:17:56.088Z',
  from: { name: '<b>Rapport</b>', address: 'hello@example.com' },
  to: [{ name: '', address: 'ada@example.com' }],
  deliveredTo: ['ada@example.com'],
  subject: '<script>alert(1)</script>',
  headers: [{ name: 'X-Note', value: '"><i>' }],
  text: 'Confirm: https://example.com/confirm?token=a&b=c <now>',
  html: '<!doctype html><html><head><title>x</title></head><body><img src="cid:logo@x"></body></html>',
  attachments: [],
}

test('escapes all values from a mail', () => {
  const page = inboxPage({ mails: [mail], selected: mail, view: 'headers', to: '"><script>' })
  expect(page).not.toContain('<script>alert')
  expect(page).not.toContain('<b>Rapport')
  expect(page).not.toContain('<i>')
  expect(page).not.toContain('"><script>')
})

test('adds a base target to the HTML of a mail and keeps its doctype first', () => {
  expect(mailDocument(mail)).toMatch(/^<!doctype html><html><head><base target="_blank">/)
  expect(mailDocument({ ...mail, html: '<p>short</p>' })).toBe('<base target="_blank"><p>short</p>')
})

test('embeds attached images', () => {
  const picture = { filename: 'logo.png', mimeType: 'image/png', disposition: null, contentId: '<logo@x>' }
  const document = mailDocument({ ...mail, attachments: [{ ...picture, content: new Uint8Array([1, 2, 3]) }] })
  expect(document).toContain('<img src="data:image/png;base64,AQID">')
})

test('turns URLs in plain text into links and escapes the rest', () => {
  const document = textDocument(mail.text)
  expect(document).toContain('href="https://example.com/confirm?token=a&#38;b=c"')
  expect(document).toContain('&#60;now&#62;')
})
