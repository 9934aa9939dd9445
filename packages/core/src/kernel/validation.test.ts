import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { Email, TimestampInput, MultiLine, normalizeEmail, SingleLine, LinkToken } from './validation.ts'
import { timestampOf } from './values/timestamps.ts'
import { Phone } from './values/phone.ts'

describe('an email address', () => {
  test.each([
    ['ada@example.com', 'ada@example.com'],
    ['  ada@example.com\n', 'ada@example.com'],
    ['Ada.Lovelace@Example.COM', 'Ada.Lovelace@Example.COM'],
    ['ada+news@example.com', 'ada+news@example.com'],
    ["o'brien!#$%&*/=?^_`{|}~-@example.com", "o'brien!#$%&*/=?^_`{|}~-@example.com"],
    ['a@b.co', 'a@b.co'],
    ['1@1.2.3.example', '1@1.2.3.example'],
    ['ada@xn--mnchen-3ya.example', 'ada@xn--mnchen-3ya.example'],
    ['ada@münchen.example', 'ada@xn--mnchen-3ya.example'],
    ['ada@МОСКВА.example', 'ada@xn--80adxhks.example'],
    ['ada@exаmple.com', 'ada@xn--exmple-4nf.com'],
    ['ada@例え。テスト', 'ada@xn--r8jz45g.xn--zckzah'],
    [`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`],
    [`a@${'b'.repeat(63)}.example`, `a@${'b'.repeat(63)}.example`],
  ])('"%s" is stored as %s', (given, kept) => {
    expect(Email.parse(given)).toBe(kept)
  })

  test.each(
    [
      ['', ' ', 'ada', '@', 'ada@', '@example.com', 'ada@@example.com', 'ada@x@example.com', 'ada@localhost', 'a@b'],
      ['ada@example', 'ada@example.c', 'ada@example.com.', 'ada@.example.com', 'ada@example..com', '.ada@example.com'],
      ['ada.@example.com', 'a..b@example.com', 'a b@example.com', 'ada @example.com', 'ada@exa mple.com'],
      ['ada@-example.com', 'ada@example-.com', 'ada@example.123', 'a@127.0.0.1', 'a@[127.0.0.1]', 'a@[IPv6:::1]'],
      ['a@x.test\r\nBcc: e@y.test', 'a@x.test\nb@y.test', 'a@x.test%0d%0aBcc:e@y.test', 'a\t@x.test', 'a@x\t.test'],
      [
        '"a@evil.test x"@x.test',
        '"a b"@x.test',
        'a@x.test, b@y.test',
        'a@x.test;b@y.test',
        '<a@x.test>',
        'Ada <a@x.test>',
      ],
      ['a(comment)@x.test', 'a@x.test(comment)', 'group: a@x.test;', 'mailto:a@x.test', 'a@x.test>', 'a,b@x.test'],
      [
        'ünï@x.test',
        'аda@x.test',
        'a\u0000@x.test',
        'a@x.test\u0000',
        'a@x\u0000.test',
        'a\u007f@x.test',
        'a\u00ad@x.test',
      ],
      ['a@１２７.０.０.１', 'a@münchen', 'a@münchen.example.', 'a@münchen..example', 'a@。münchen.example'],
      [
        'a@münchen.example/x',
        'a@münchen.example?x',
        'a@münchen.example#x',
        'a@münchen.example\\x',
        'a@münchen.example:25',
      ],
      ['a@mün\tchen.example', 'a@mün\nchen.example', 'a@münchen%2eexample', 'a@mün chen.example', 'a@ü_.example'],
      ['a@ü,b.example', 'a@ü;b.example', 'a@ü"b.example', 'a@ü>.example', 'a@[ü].example', 'a@ü.example\u0000'],
      [`${'a'.repeat(65)}@example.com`, `a@${'b'.repeat(64)}.example`, `a@${'b.'.repeat(130)}example`],
      [`${'a'.repeat(64)}@${'ü'.repeat(40)}.${'ü'.repeat(40)}.${'ü'.repeat(40)}.${'ü'.repeat(40)}.example`],
      ['a\ud800@x.test', 'a@\ud800.test', `${'x'.repeat(1_000_000)}@x.test`],
    ].flat(),
  )('"%s" is rejected', (given) => {
    expect(Email.safeParse(given).data).toBeUndefined()
  })

  test.each([undefined, null, 1, {}, ['a@x.test']])('%j is rejected', (given) => {
    expect(Email.safeParse(given).success).toBe(false)
  })

  test('is not changed by a second normalization', () => {
    for (const address of ['ada@xn--mnchen-3ya.example', 'Ada@Example.com'])
      expect(normalizeEmail(address)).toBe(address)
  })
})

describe('single-line text', () => {
  const Name = SingleLine(10, 1)

  test('is trimmed and normalized to NFC, and otherwise unchanged', () => {
    expect(Name.parse('  Ada \n')).toBe('Ada')
    expect(Name.parse('Ame\u0301lie')).toBe('Amélie')
    for (const text of ['<script>', '{{7*7}}', '${x}', '=1+1', '🦉👩‍👩‍👧', 'עברית', '%00', '\\u0000'])
      expect(Name.parse(text)).toBe(text)
  })

  test('is measured after trimming and normalization', () => {
    expect(Name.parse(`  ${'x'.repeat(10)}  `)).toHaveLength(10)
    expect(Name.parse('e\u0301'.repeat(10))).toHaveLength(10)
    expect(Name.safeParse('x'.repeat(11)).error?.issues[0]?.message).toBe('must have at most 10 characters')
    expect(Name.safeParse('   ').error?.issues[0]?.message).toBe('must not be empty')
    expect(SingleLine(10).parse('')).toBe('')
  })

  test('rejects control characters and line breaks', () => {
    const codes = [...Array(0x20).keys(), 0x7f]
    expect(codes.filter((code) => Name.safeParse(`a${String.fromCharCode(code)}b`).success)).toEqual([])
  })

  test('must be valid Unicode, as the database would change it silently', () => {
    for (const text of ['\ud800', 'a\udc00b', '\ud800\ud800', 'x\ud83e']) {
      expect(Name.safeParse(text).error?.issues[0]?.message).toBe('must be valid Unicode')
      expect(MultiLine(10).safeParse(text).success).toBe(false)
    }
  })

  test.each([null, 1, {}, [], true])('rejects %j', (given) => {
    expect(Name.safeParse(given).error?.issues[0]?.message).toBe('must be a string')
  })

  test('is required', () => {
    expect(Name.safeParse(undefined).error?.issues[0]?.message).toBe('is required')
  })
})

test('multi-line text accepts line breaks and tabs, and no other control character', () => {
  const Note = MultiLine(20)
  expect(Note.parse('a\r\n\tb\n')).toBe('a\r\n\tb')
  const codes = [...Array(0x20).keys(), 0x7f]
  expect(codes.filter((code) => Note.safeParse(`a${String.fromCharCode(code)}b`).success)).toEqual([9, 10, 13])
})

const marks = `a${'\u0345'.repeat(260_000)}${'\u0316'.repeat(260_000)}`
const timestampMessage = 'must be a timestamp such as 2026-11-21T06:35:49Z or a date such as 2026-11-21'
test.each<[name: string, check: [schema: z.ZodType, text: string, message: string]]>([
  ['a text of combining marks', [SingleLine(200), marks, 'must have at most 200 characters']],
  ['an address of combining marks', [Email, marks, 'must have at most 254 characters']],
  ['an address of joiners', [Email, `a${'\u200c'.repeat(349_000)}a`, 'must have at most 254 characters']],
  ['a phone number of line breaks', [Phone, `1${'\n'.repeat(500_000)}z`, 'must have at most 40 characters']],
  ['a phone number of digits', [Phone, '१'.repeat(300_000), 'must have at most 40 characters']],
  ['a timestamp of colons', [TimestampInput, ':11'.repeat(330_000), timestampMessage]],
])('%s, a megabyte long, is checked in linear time', (_name, [schema, text, message]) => {
  expect(schema.safeParse(text).error?.issues.map((issue) => issue.message)).toEqual([message])
})

describe('a timestamp in a request', () => {
  test.each([
    ['2026-11-21T06:35:49Z', '2026-11-21T06:35:49.000Z'],
    ['2026-11-21T06:35:49.123456789Z', '2026-11-21T06:35:49.123Z'],
    ['2026-11-21T06:35:49+05:30', '2026-11-21T01:05:49.000Z'],
    ['2026-11-21 06:35+05', '2026-11-21T01:35:00.000Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
  ])('%s is %s', (given, timestamp) => {
    expect(TimestampInput.parse(given)).toBe(timestamp)
  })

  test.each(
    [
      [
        '',
        'now',
        '2026-02-30',
        '2026-13-01',
        '20260101',
        '2026-1-1',
        '-2026-01-01',
        '0000-01-01',
        '10000-01-01',
        '2026-11-21T06:35:49',
        '21.11.2026',
        '1700000000',
        '2026-13-01T00:00:00Z',
        '2026-02-30T25:00:00Z',
      ],
      ['0000-00-00T00:00:00Z', '0000-01-01T00:00:00Z', '+275760-09-13T00:00:00Z', '294277-01-01T00:00:00Z'],
      ['2026-11-21T06:35:49+99:99', '2026-02-30 10:00Z', '20261301T100000Z', 'x'.repeat(100)],
    ].flat(),
  )('"%s" is rejected', (given) => {
    expect(TimestampInput.safeParse(given).success).toBe(false)
  })
})

test.each([
  ['2026-11-21 18:30:03.78+00', '2026-11-21T18:30:03.780Z'],
  ['2026-11-21 18:30:03+00', '2026-11-21T18:30:03.000Z'],
  ['2026-11-21 18:30:03.007+00', '2026-11-21T18:30:03.007Z'],
  ['2026-11-22 00:15:03.5+05:45', '2026-11-21T18:30:03.500Z'],
  ['2026-11-21 16:30:03-02', '2026-11-21T18:30:03.000Z'],
])('the PostgreSQL timestamp %s is shown as %s', (written, shown) => {
  expect(timestampOf(written)).toBe(shown)
})

test.each(['2026-11-21T06:35:49 01:00', '2026-11-21T06:35:49.123 0530', '2026-11-21T06:35:49 01'])(
  'a timestamp whose plus sign became a space is rejected with a hint: %s',
  (given) => {
    const [issue] = TimestampInput.safeParse(given).error?.issues ?? []
    expect(issue?.message).toMatch(/^must be a timestamp.*: in a URL, send a plus sign as %2B$/)
  },
)

test.each([
  ['what follows a link in a sentence', 'aB-_.c9.', 'aB-_.c9).', 'aB-_.c9, or', '"aB-_.c9"', '<aB-_.c9>', 'aB-_.c9”'],
  ['a line break inside', 'aB-\r\n_.c9', 'aB-=\r\n_.c9', 'aB-_.\n c9', ' aB-_.c9\n'],
])('the token of a link loses %s', (_what, ...texts) => {
  for (const text of texts) expect([text, LinkToken(100).parse(text).slice(0, 7)]).toEqual([text, 'aB-_.c9'])
})

const signature = 'x'.repeat(24)
test.each([
  ['a-b_c', 'a-b_c'],
  ['a=2Db=5Fc', 'a-b_c'],
  ['a=2db=5fc', 'a-b_c'],
  ['a-b=2Dc', 'a-b2Dc'],
  ['a_b=5Fc', 'a_b5Fc'],
  ['a-b=2Ec', 'a-b2Ec'],
  ['ab=2Ec', 'ab2Ec'],
  ['ab=\r\n2Dc', 'ab2Dc'],
  ['ab=\n5Fc', 'ab5Fc'],
  [`a-b=2E${signature}`, `a-b.${signature}`],
  [`a-b=2E=${signature}`, `a-b.${signature}`],
  [`a-b=2E${signature}.${signature}`, `a-b2E${signature}.${signature}`],
  [`a-b.=2E${signature.slice(2)}`, `a-b.2E${signature.slice(2)}`],
])('the token %j of a link is %s', (text, token) => expect(LinkToken(100).parse(text)).toBe(token))

test('a token without a character of a token, or that is too long, is empty', () => {
  for (const text of ['', ' ', '…', 'x'.repeat(101)]) expect(LinkToken(100).parse(text)).toBe('')
})
