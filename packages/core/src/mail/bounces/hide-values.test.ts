import { expect, test } from 'vitest'
import { hideValues } from './hide-values.ts'

test.each([
  '550 5.1.1 User unknown',
  '550-5.1.1 The email account that you tried to reach does not exist - gsmtp',
  '452 4.2.2 The mailbox is full (95% of its quota). Why? It was not read',
  '554 5.7.1 Service unavailable; Client host [192.0.2.254] blocked using zen.spamhaus.org',
  '550 5.7.1 [S3150] [TSS04] message\nrefused (in reply to end of DATA command)',
  'host mail-sor-f41.google.com[192.0.2.254] said',
  '[AM6EUR05FT012.eop-eur05.prod.protection.outlook.com]: connection to aspmx2.googlemail.com, mx0a-00112233.pphosted.com',
])('a code, a plain word and a host tell the reason: %j', (text) => {
  expect(hideValues(text)).toBe(text)
})

test.each([
  'https://shop.example/reset/secret',
  '<hxxps://shop[.]example/re...',
  'shop.example/secret,',
  'shop.example?secret',
  'C:\\secret',
  '(token=secret)',
  'my%2Fsecret',
  '<ada@example.com>:',
  'code:482913',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc',
  'host=mx482913.shop.com',
  'aGVsbG8x',
  'correct-horse-battery-staple',
  'c'.repeat(25),
])('what may be a value is hidden: %s', (word) => {
  expect(hideValues(`blocked ${word} see\n${word}`)).toBe('blocked [value] see\n[value]')
})

test('a long text takes time in proportion to its length', () => {
  const texts = ['a', 'a ', 'a.', '%', '?', 'aaaaa1 ', 'a1b2c3.'].map((part) => part.repeat(1_000_000 / part.length))
  const start = performance.now()
  for (const text of texts) hideValues(text)
  expect(performance.now() - start).toBeLessThan(2_000)
})
