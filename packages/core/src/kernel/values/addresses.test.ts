import { expect, test } from 'vitest'
import { findAddresses, unquoteLocalPart } from './addresses.ts'

test.each([
  ['ada@example.com', 'ada@example.com'],
  ['"ada"@example.com', 'ada@example.com'],
  ['"ada.b"@example.com', 'ada.b@example.com'],
  ['"a\\da"@example.com', 'ada@example.com'],
  ['"a\\"b"@example.com', 'a"b@example.com'],
  ['"a b"@example.com', 'a b@example.com'],
  ['"a@b"@example.com', 'a@b@example.com'],
  ['"ada@example.com"', '"ada@example.com"'],
  ['ada"@example.com', 'ada"@example.com'],
])('the local part of %s is not quoted in %s', (address, unquoted) => expect(unquoteLocalPart(address)).toBe(unquoted))

test.each([
  ['"ada"@example.com', ['ada@example.com']],
  ['<"ada"@example.com>', ['ada@example.com']],
  ['"Lovelace, Ada" <"ada"@example.com>', ['ada@example.com']],
  ['"eve@example.com" <ada@example.com>', ['ada@example.com']],
  ['"ada@example.com"', ['ada@example.com']],
  ['"ada"@example.com, eve@example.com', ['ada@example.com', 'eve@example.com']],
])('the addresses in %s are %j', (text, addresses) => expect(findAddresses(text)).toEqual(addresses))
