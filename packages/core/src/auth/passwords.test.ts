import { dictionary } from '@zxcvbn-ts/language-common'
import { expect, test } from 'vitest'
import commonPasswords from './common-passwords.json' with { type: 'json' }
import { checkPassword } from './passwords.ts'

// The library's whole dictionary takes 170 MB to unpack: what a password of twelve characters can match is kept beside.
test('the list of common passwords is the library’s, of twelve characters or more', () => {
  expect(commonPasswords).toEqual(dictionary['passwords-common'].filter((password) => password.length >= 12))
})

test.each(['123456789012', 'Qwertyuiop123', 'ADA@example.com', 'zzzzzzzzzzzzzz'])('%s is refused', (password) => {
  expect(() => checkPassword(password, 'ada@example.com')).toThrow('is too common')
})

test('a long sentence is accepted', () => {
  expect(() => checkPassword('a long sentence nobody knows', 'ada@example.com')).not.toThrow()
})
