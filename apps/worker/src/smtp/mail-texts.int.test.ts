/** What the parser of a receiver reads is what was sent, and every line is one that any mail server accepts. */
import { encodePart, onePiece } from '@rapport/core/mail/mime.ts'
import { toHeaderText } from '@rapport/core/mail/outgoing-mail.ts'
import { useForFile } from '@rapport/testing/fixtures/use-fixtures.ts'
import { startSmtpReceiver } from '@rapport/testing/network/receivers.ts'
import { expect, test } from 'vitest'
import { openMailTransport } from './mail-transport.ts'

const smtp = useForFile(() => startSmtpReceiver())
const transport = useForFile(() => openMailTransport(smtp.url))

const header = {
  from: { name: '', address: 'news@example.com' },
  to: { name: '', address: 'ada@example.com' },
  subject: 'News',
  messageId: '<1@example.com>',
}

async function receive(mail: Parameters<typeof transport.send>[0]) {
  const before = smtp.mails.length
  expect(await transport.send(mail)).toMatchObject({ kind: 'sent' })
  const [received, ...others] = smtp.mails.slice(before)
  if (!received || others.length > 0) throw new Error(`Expected one mail, received ${others.length + 1}`)
  const lines = received.raw.toString('latin1').split('\r\n')
  expect(lines.filter((line) => line.length > 998)).toEqual([])
  return { ...received, head: lines.slice(0, lines.indexOf('')).join('\r\n') }
}

const texts: Record<string, string> = {
  'a comma': 'Lovelace, Ada',
  'a semicolon and a colon': 'Team: Ada; Grace',
  quotes: 'Ada "Countess" Lovelace',
  'a backslash at the end': String.raw`Ada\ Lovelace\ `.trim(),
  parentheses: 'Ada (Analytical Engines)',
  'angle brackets': 'Ada <ada@evil.example>',
  'an address': 'ada@evil.example',
  'a dot at the start': '.Ada.',
  'the start of an encoded word': 'Ada =? Lovelace',
  'an apostrophe': "Ada O’Connor & d'Arc",
  'letters with accents': 'Łukasz Žofia Søren Ñandú',
  'an accent and a comma': 'Žofia, Søren',
  Chinese: '王小明',
  Arabic: 'محمد بن موسى الخوارزمي',
  Devanagari: 'नमस्ते दुनिया',
  'characters beyond the basic plane': '𠮷野家 𝒜𝒹𝒶',
  'an emoji that is joined from several': 'Ada 👩‍👩‍👧‍👦 🏴󠁧󠁢󠁳󠁣󠁴󠁿 ❤️',
  'many emoji': '🦉'.repeat(100),
  'many emoji after a letter': `a${'🦉'.repeat(99)}`,
  'a long word': 'x'.repeat(200),
  'a long word with an accent': `${'x'.repeat(150)}é${'x'.repeat(49)}`,
  'long text': 'Ada Lovelace '.repeat(15).trim(),
  'long text with accents': 'Ädä Lövelace '.repeat(15).trim(),
  'two spaces': 'Ada  Lovelace   King',
  'a space that does not break': 'Ada\u00a0Lovelace',
  'underscores and equals signs': 'a_b=c é_=',
  'a question mark': 'Really? Ja, natürlich?=',
  'a soft hyphen and a zero-width space': 'Donau\u00addampf\u200bschiff',
}

test.each(Object.entries(texts))('a name and a subject with %s arrive as they were sent', async (_case, text) => {
  const from = { ...header.from, name: text }
  const to = { ...header.to, name: text }
  const { head, fromHeader, toHeader, subject } = await receive({ ...header, from, to, subject: text, text: 'Hi' })
  expect({ from: fromHeader, to: toHeader, subject }).toEqual({ from, to: [to], subject: text })
  // RFC 5322: ASCII only. RFC 2047: an encoded word is short and has whole characters.
  expect(head).toMatch(/^[\t\r\n\u0020-\u007e]*$/)
  for (const [word, encoding, data = ''] of head.matchAll(/=\?utf-8\?([bq])\?([^?\s]*)\?=/gi)) {
    expect(word.length).toBeLessThanOrEqual(75)
    const bytes = encoding?.toUpperCase() === 'B' ? Buffer.from(data, 'base64') : decodeQ(data)
    expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).not.toThrow()
  }
})

const decodeQ = (data: string) =>
  Buffer.from(
    data.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  )

test.each(['=?utf-8?Q?evil=2Eexample?=', 'Ada =?iso-8859-1*en?b?ZXZpbA==?= é'])(
  'mail programs do not decode the name and subject %s',
  async (text) => {
    const name = toHeaderText(text)
    const from = { ...header.from, name }
    const { fromHeader, subject } = await receive({ ...header, from, subject: name, text: 'Hi' })
    expect({ from: fromHeader, subject }).toEqual({ from, subject: text.replace('=?', '= ?') })
  },
)

const bodies: Record<string, string> = {
  'a line of 998 bytes': 'x'.repeat(998),
  'a line of 999 bytes': 'x'.repeat(999),
  'a line of 998 bytes with an accent': `${'x'.repeat(996)}é`,
  'a line of 5,000 dots': '.'.repeat(5_000),
  'lines that begin with dots': '.\n..\n...a\n.b\nc.\n.',
  'a dot at each place where a long line is folded': Array.from({ length: 90 }, (_, n) => 'y'.repeat(n) + '.').join(''),
  'what ends the data of SMTP': 'a\n.\nQUIT\n.',
  'spaces at the ends of lines': 'a  \n\tb \n -- \nc',
  'lines of other formats': 'From ada\n>From grace\n--\n=20\n=\n-- \n--boundary\nSubject: no',
  'emoji in a long line': `a${'🦉'.repeat(500)}`,
}

test.each(Object.entries(bodies))('%s arrives as it was sent', async (_case, text) => {
  const html = `<p>\n${text}\n</p>`
  const parts = [encodePart('plain', onePiece(text)), encodePart('html', onePiece(html))].map((part) =>
    Buffer.concat(part),
  )
  for (const content of [{ text }, { text, html }, { parts }]) {
    const received = await receive({ ...header, ...content })
    expect(withoutLastBreak(received.text)).toBe(text)
    expect(withoutLastBreak(received.html)).toBe('text' in content && !('html' in content) ? '' : html)
  }
})

/** Parsers add a line break at the end of a part, or not. */
const withoutLastBreak = (text: string) => text.replace(/\n$/, '')
