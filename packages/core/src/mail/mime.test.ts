import { expect, test } from 'vitest'
import { encodePart, joinPieces, onePiece, type Pieces } from './mime.ts'

const decode = (encoded: string) =>
  Buffer.from(
    encoded
      .replace(/=\r\n/g, '')
      .replace(/=([\dA-F]{2})/g, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString()

/** The body of a mail of one part. */
function bodyOf(text: Pieces): string {
  const [head = '', body = '', ...rest] = Buffer.concat(encodePart('plain', text)).toString('latin1').split('\r\n\r\n')
  expect(head).toBe('Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable')
  return [body, ...rest].join('\r\n\r\n')
}

const asSent = (text: string) => text.replace(/\r\n?|\n/g, '\r\n')
const texts = [
  '',
  'Hello',
  'a=b ',
  'tab\t\nspace \n\n.\n..dots\n',
  'Grüße, 🦉 Привет',
  'x'.repeat(1_000),
  '='.repeat(500),
  '.'.repeat(500),
  `${'é'.repeat(300)} end `,
  `${'word '.repeat(200)}\n`,
  ' '.repeat(200),
  'From here\r\nline\rline\n\u0000\u007f',
]

function mustBeFit(body: string) {
  for (const line of body.split('\r\n')) {
    expect(line.length).toBeLessThanOrEqual(76)
    expect(line).toMatch(/^(?!\.)[\t\x20-\x7e]*$/)
    expect(line).not.toMatch(/[ \t]$/)
  }
  expect(body).not.toMatch(/=(\r\n)?$/)
}

test.each(texts)('%j comes back as it was, in short lines of printable ASCII that no dot begins', (text) => {
  const body = bodyOf(onePiece(text))
  expect(decode(body)).toBe(asSent(text))
  mustBeFit(body)
})

test('so does what is in pieces, whatever is at their ends, for one mail after another', () => {
  const fixed = texts.concat('the end')
  for (const between of [texts, texts.toReversed(), texts.map(() => ''), texts.map(() => ' '), texts.map(() => '.')]) {
    const body = bodyOf({ fixed, between })
    expect(decode(body)).toBe(fixed.map((piece, index) => asSent(piece) + asSent(between[index] ?? '')).join(''))
    mustBeFit(body)
  }
})

test('a part that a value ends, if only with nothing, ends in no soft line break', () => {
  for (const value of ['', 'x', ' ']) {
    const body = bodyOf({ fixed: ['Hello ', ''], between: [value] })
    expect(decode(body)).toBe(`Hello ${value}\r\n`)
    mustBeFit(body)
  }
})

test('pieces are joined in their order', () => {
  expect(joinPieces({ fixed: ['a', 'c', 'e'], between: ['b', 'd'] })).toBe('abcde')
})
