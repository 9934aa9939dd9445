import { expect, test } from 'vitest'
import { showInvisible, toNormalForm, trimInvisible } from './text.ts'
import { Email, SingleLine } from '../validation.ts'

test.each([
  ['a zero-width space', '\u200bAda\u200b'],
  ['marks of the writing direction', '\u200eAda\u200f\u202c'],
  ['isolates', '\u2066Ada\u2069'],
  ['a word joiner and a byte order mark', '\u2060Ada\ufeff'],
  ['a soft hyphen', 'Ada\u00ad'],
  ['spaces of all kinds', '\u00a0\u2009\u3000\tAda\u202f\n'],
  ['a Hangul filler', 'Ada\u3164'],
])('drops %s at the ends', (_name, text) => {
  expect(trimInvisible(text)).toBe('Ada')
  expect(SingleLine(3).parse(text)).toBe('Ada')
})

test.each([
  ['a soft hyphen inside', 'Donau\u00addampfer'],
  ['a joiner inside an emoji', '👩\u200d💻'],
  ['a variation selector at the end', '❤\ufe0f'],
  ['the flag of Scotland, which ends with a tag', '\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}'],
  ['a joiner that shapes a Malayalam letter at the end', 'അവന്\u200d'],
  ['a non-joiner inside a Persian word', 'می\u200cخواهم'],
])('keeps %s', (_name, text) => {
  expect(trimInvisible(text)).toBe(text)
})

test('a text of a million spaces is trimmed in linear time', () => {
  const text = `a${' '.repeat(1_000_000)}b`
  expect(trimInvisible(` ${text} `)).toBe(text)
})

test('a letter with up to 30 combining marks is normalized', () => {
  const marks = '\u0316'.repeat(29)
  expect(toNormalForm(`e\u0301${marks}`)).toBe(`é${marks}`)
  expect(toNormalForm(`e\u0301${marks}\u0316`)).toBe(`e\u0301${marks}\u0316`)
})

test.each([
  ['NFC', '\u0345', '\u0316'],
  ['NFKC', `${'\u0345'.repeat(30)}\uff9e`, ''],
  ['NFKD', `${'\u0345'.repeat(30)}\uff9f`, ''],
] as const)('a megabyte of combining marks takes linear time in %s', (form, high, low) => {
  const count = 520_000 / `${high}${low}`.length
  const text = `a${high.repeat(count)}${low.repeat(count)}`
  expect(toNormalForm(text, form)).toBe(text)
})

test('an address loses invisible characters at its ends', () => {
  for (const text of [
    '\u200bada@example.com',
    'ada@example.com\u200b',
    '\u202aada@example.com\u202c',
    '\ufeffada@example.com\u200d',
  ])
    expect(Email.parse(text)).toBe('ada@example.com')
})

test.each([
  ['ada\u200b@example.com', '\\u200b'],
  ['ada@exam\u00adple.com', '\\u00ad'],
  ['ada\u00a0@example.com', '\\u00a0'],
  ['ada@\u{e0041}example.com', '\\u{e0041}'],
])('the error of the address %j names the invisible character', (text, shown) => {
  const [issue] = Email.safeParse(text).error?.issues ?? []
  expect(issue?.message).toBe(`must be an email address such as ada@example.com, without ${shown}`)
})

test('shows invisible characters, and nothing else', () => {
  expect(showInvisible('\u200bE-Mail\u00a0é 😀\u0007\ud83d')).toBe('\\u200bE-Mail\\u00a0é 😀\\u0007\\ud83d')
})
