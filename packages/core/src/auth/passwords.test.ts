import { dictionary } from '@zxcvbn-ts/language-common'
import type * as Argon2 from '@node-rs/argon2'
import { afterAll, expect, test, vi } from 'vitest'
import commonPasswords from './common-passwords.json' with { type: 'json' }

// Test files share modules. This file loads its own copies, which use the mock, and discards them afterwards.
vi.mock('@node-rs/argon2', async (original) => {
  const real = await original<typeof Argon2>()
  return { ...real, verify: vi.fn<typeof real.verify>(real.verify) }
})
vi.resetModules()
const argon2 = await import('@node-rs/argon2')
const { checkPassword, hashPassword, verifyPassword } = await import('./passwords.ts')
afterAll(() => void vi.resetModules())

// The library's dictionary takes 170 MB to unpack, so the repository stores its passwords of 12 or more characters.
test('the list has every common password of twelve or more characters', () => {
  expect(commonPasswords).toEqual(dictionary['passwords-common'].filter((password) => password.length >= 12))
})

test.each(['123456789012', 'Qwertyuiop123', 'ADA@example.com', 'zzzzzzzzzzzzzz'])('rejects %s', (password) => {
  expect(() => checkPassword(password, 'ada@example.com')).toThrow('is too common')
})

test('accepts a long sentence', () => {
  expect(() => checkPassword('a long sentence that is hard to guess', 'ada@example.com')).not.toThrow()
})

test('a password check costs the same without a user, and fails', async () => {
  const password = 'no user has this password'
  const stored = await hashPassword('a long sentence that is hard to guess')
  expect([await verifyPassword(undefined, password), await verifyPassword(stored, password)]).toEqual([false, false])
  const costs = vi.mocked(argon2.verify).mock.calls.map(([hash]) => String(hash).split('$').slice(0, 4))
  expect(costs).toEqual([costs[1], ['', 'argon2id', 'v=19', 'm=19456,t=2,p=1']])
})
