import { dictionary } from '@zxcvbn-ts/language-common'
import type * as Argon2 from '@node-rs/argon2'
import { afterAll, expect, test, vi } from 'vitest'
import commonPasswords from './common-passwords.json' with { type: 'json' }

// Test files share their modules: this one loads its own, which use the mock, and leaves none behind.
vi.mock('@node-rs/argon2', async (original) => {
  const real = await original<typeof Argon2>()
  return { ...real, verify: vi.fn<typeof real.verify>(real.verify) }
})
vi.resetModules()
const argon2 = await import('@node-rs/argon2')
const { checkPassword, hashPassword, verifyPassword } = await import('./passwords.ts')
afterAll(() => void vi.resetModules())

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

test('where there is no user a password costs what it costs where there is one, and is wrong', async () => {
  const password = 'nobody has this password'
  const stored = await hashPassword('a long sentence nobody knows')
  expect([await verifyPassword(undefined, password), await verifyPassword(stored, password)]).toEqual([false, false])
  const costs = vi.mocked(argon2.verify).mock.calls.map(([hash]) => String(hash).split('$').slice(0, 4))
  expect(costs).toEqual([costs[1], ['', 'argon2id', 'v=19', 'm=19456,t=2,p=1']])
})
