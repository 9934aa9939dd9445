import { expect, test } from 'vitest'
import { toQuotedPrintable } from './mail-message.ts'

const decode = (encoded: Buffer) =>
  Buffer.from(
    encoded
      .toString('latin1')
      .replace(/=\r\n/g, '')
      .replace(/=([\dA-F]{2})/g, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString()

const texts = [
  '',
  'Hello',
  'a=b ',
  'tab\t\nspace \n\n.\n..dots\n',
  'Grüße, 🦉 Привет',
  'x'.repeat(1_000),
  '='.repeat(500),
  `${'é'.repeat(300)} end `,
  `${'word '.repeat(200)}\n`,
  ' '.repeat(200),
  'From here\r\nline\rline\n\u0000\u007f',
]
test.each(texts)('%j comes back as it was, in short lines of printable ASCII', (text) => {
  const encoded = toQuotedPrintable(text)
  expect(decode(encoded)).toBe(text.replace(/\r\n?|\n/g, '\r\n'))
  for (const line of encoded.toString('latin1').split('\r\n')) {
    expect(line.length).toBeLessThanOrEqual(76)
    expect(line).toMatch(/^[\t\x20-\x7e]*$/)
    expect(line).not.toMatch(/[ \t]$/)
  }
})
