import { expect, test } from 'vitest'
import { createNetworkCheck, normalizeClientIp } from './client-ip.ts'

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

const isInNetworks = createNetworkCheck(['10.1.0.0/16', '192.0.2.7/32', '2001:db8:1::/48', '2001:db8:2::9/128'])

test.each([
  '10.1.255.255',
  '192.0.2.7',
  '192.0.2.7:443',
  '::ffff:192.0.2.7',
  '2001:db8:1:ffff::1',
  '[2001:db8:2::9]:443',
  '2001:DB8:2:0::9%eth0',
])('%s is in the networks', (address) => {
  expect(isInNetworks(address)).toBe(true)
})

test.each(['10.2.0.0', '192.0.2.70', '2001:db8:2::8', '', 'unknown', '10.1', '192.0.2.7, 192.0.2.8'])(
  '%j is not in the networks',
  (address) => {
    expect(isInNetworks(address)).toBe(false)
  },
)

test('no address is in an empty list of networks', () => {
  expect(createNetworkCheck([])('192.0.2.7')).toBe(false)
})
