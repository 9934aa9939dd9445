import { expect, test } from 'vitest'
import { encodePart, joinPieces, onePiece, type Pieces } from './mime.ts'

const decode = (encoded: string) =>
  Buffer.from(
    encoded
      .replace(/=\r\n/g, '')
      .replace(/=([\dA-F]{2})/g, (_whole, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString()

/** Encodes a text part, checks its header fields and returns its body. */
function encodeBody(text: Pieces): string {
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

function expectValidLines(body: string) {
  for (const line of body.split('\r\n')) {
    expect(line.length).toBeLessThanOrEqual(76)
    expect(line).toMatch(/^(?!\.)[\t\x20-\x7e]*$/)
    expect(line).not.toMatch(/[ \t]$/)
  }
  expect(body).not.toMatch(/=(\r\n)?$/)
}

test.each(texts)('%j is encoded as short lines of printable ASCII and decodes to the same text', (text) => {
  const body = encodeBody(onePiece(text))
  expect(decode(body)).toBe(asSent(text))
  expectValidLines(body)
})

test('pieces decode to the same text, with any characters at their ends', () => {
  const fixed = texts.concat('the end')
  for (const between of [texts, texts.toReversed(), texts.map(() => ''), texts.map(() => ' '), texts.map(() => '.')]) {
    const body = encodeBody({ fixed, between })
    expect(decode(body)).toBe(fixed.map((piece, index) => asSent(piece) + asSent(between[index] ?? '')).join(''))
    expectValidLines(body)
  }
})

test('a part that ends in a value does not end in a soft line break', () => {
  for (const value of ['', 'x', ' ']) {
    const body = encodeBody({ fixed: ['Hello ', ''], between: [value] })
    expect(decode(body)).toBe(`Hello ${value}\r\n`)
    expectValidLines(body)
  }
})

test('joinPieces alternates fixed and variable pieces', () => {
  expect(joinPieces({ fixed: ['a', 'c', 'e'], between: ['b', 'd'] })).toBe('abcde')
})
