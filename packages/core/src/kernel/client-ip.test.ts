import { expect, test } from 'vitest'
import { normalizeClientIp } from './client-ip.ts'

test.each([
  ['7.7.7.7', '7.7.7.7'],
  ['7.7.7.7:1001', '7.7.7.7'],
  ['7.7.7.007', '7.7.7.7'],
  ['::ffff:7.7.7.7', '7.7.7.7'],
  ['[::FFFF:7.7.7.7]:443', '7.7.7.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::'],
  ['[2001:db8:1:2::9]', '2001:db8:1:2::'],
  ['[2001:db8:1:2::9]:65535', '2001:db8:1:2::'],
  ['fe80::1%eth0', 'fe80::'],
  ['[fe80::1%eth0]:80', 'fe80::'],
  ['::', '::'],
])('%s identifies the client %s', (text, client) => {
  expect(normalizeClientIp(text)).toBe(client)
})

test.each([
  '',
  'unknown',
  '999.1.1.1',
  '7.7.7.7:99999',
  '<script>',
  'a@7.7.7.7',
  '7.7.7.7/a',
  '[::1',
  ' ',
  ',',
  "' or 1=1",
  'x'.repeat(5_000),
])('%j is not an IP address', (text) => {
  expect(normalizeClientIp(text)).toBeUndefined()
})
