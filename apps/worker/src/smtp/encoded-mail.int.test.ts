import { encodePart, onePiece } from '@rapport/core/mail/mime.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { expect, test } from 'vitest'
import { openMailTransport } from './mail-transport.ts'

const smtp = useForFile(() => startSmtpReceiver())
const transport = useForFile(() => openMailTransport(smtp.url))

test.each(['Hello\n.\n..dots = signs \nGrüße, 🦉 Привет, こんにちは', `${'wörd '.repeat(400)}\nFrom here\r\nline `])(
  'a mail with pre-encoded parts equals one that nodemailer encodes: %j',
  async (text) => {
    const html = `<p>${text}</p>\n`
    const header = {
      from: { name: 'Rapport', address: 'hello@example.com' },
      to: { name: 'Ada', address: 'ada@example.com' },
      subject: 'News',
      messageId: '<same@example.com>',
    }
    const parts = [encodePart('plain', onePiece(text)), encodePart('html', onePiece(html))].map((part) =>
      Buffer.concat(part),
    )
    const before = smtp.mails.length
    for (const mail of [
      { ...header, text, html },
      { ...header, parts },
    ]) {
      expect(await transport.send(mail)).toMatchObject({ kind: 'sent' })
    }
    const [plain, encoded] = smtp.mails.slice(before)
    expect(encoded).toMatchObject({ subject: plain?.subject, text: plain?.text, html: plain?.html })
    expect(Object.keys(encoded?.headers ?? {}).toSorted()).toEqual(Object.keys(plain?.headers ?? {}).toSorted())
  },
)
