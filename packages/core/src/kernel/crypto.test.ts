import { describe, expect, test } from 'vitest'
import {
  decryptPayload,
  deriveKeys,
  encryptPayload,
  hashToken,
  newToken,
  seal,
  openPayload,
  sealPayload,
  signPayload,
  unseal,
  verifyPayload,
} from './crypto.ts'

const testSecret = 'a secret that is known to every test'
const keys = deriveKeys(testSecret)
const otherKeys = deriveKeys('a secret that is known to every tesu')

/** Returns one copy of the text per position, with the character at that position changed. */
const changeEachCharacter = (text: string) =>
  text.split('').map((character, at) => text.slice(0, at) + (character === 'A' ? 'B' : 'A') + text.slice(at + 1))

describe('an encrypted value', () => {
  const sealed = seal(keys, 'whsec_très secret 🦉', 'whk_1')

  test('decrypts to the original text for the same row', () => {
    expect(unseal(keys, sealed, 'whk_1')).toBe('whsec_très secret 🦉')
    expect(unseal(keys, seal(keys, '', 'whk_1'), 'whk_1')).toBe('')
    expect(sealed).not.toContain('whsec')
  })

  test('differs each time, even for equal secrets', () => {
    expect(seal(keys, 'same', 'whk_1')).not.toBe(seal(keys, 'same', 'whk_1'))
  })

  test('cannot be decrypted for another row', () => {
    for (const row of ['whk_2', 'whk_', 'whk_11', '']) expect(() => unseal(keys, sealed, row)).toThrow()
  })

  test('cannot be decrypted with another SECRET_KEY, and the error says so', () => {
    expect(() => unseal(otherKeys, sealed, 'whk_1')).toThrow('encrypted with another SECRET_KEY')
  })

  test('cannot be decrypted after any change, truncation or addition', () => {
    const [keyId, iv, tag, body = ''] = sealed.split('.')
    const cutTags = [4, 8, 12].map((bytes) =>
      Buffer.from(tag ?? '', 'base64url')
        .subarray(0, bytes)
        .toString('base64url'),
    )
    const wrong = [
      // The last character of a part may hold unused bits.
      ...changeEachCharacter(sealed).filter((_text, at) => !/^(\.|$)/.test(sealed.slice(at + 1))),
      ...cutTags.map((cut) => [keyId, iv, cut, body].join('.')),
      [keyId, iv, tag, body.slice(0, -4)].join('.'),
      [keyId, iv, tag].join('.'),
      `${sealed}.x`,
      '',
      '...',
      'plain text',
    ]
    const opens = (text: string) => {
      try {
        return typeof unseal(keys, text, 'whk_1') === 'string'
      } catch {
        return false
      }
    }
    expect(wrong.filter(opens)).toEqual([])
  })
})

describe('an encrypted payload', () => {
  const encrypted = encryptPayload(keys.cursors, 'contacts', ['a', 1, 'é"'])

  test('decrypts, is safe in a URL and shows no part of it', () => {
    expect(decryptPayload(keys.cursors, 'contacts', encrypted)).toEqual(['a', 1, 'é"'])
    expect(encrypted).toMatch(/^[\w-]+$/)
    expect(Buffer.from(encrypted, 'base64url').includes('"a"')).toBe(false)
  })

  test('is valid for its own purpose and key only', () => {
    expect(decryptPayload(keys.cursors, 'lists', encrypted)).toBeUndefined()
    expect(decryptPayload(keys.links, 'contacts', encrypted)).toBeUndefined()
    expect(decryptPayload(otherKeys.cursors, 'contacts', encrypted)).toBeUndefined()
  })

  test('has the same length for numbers with few and with many digits', () => {
    const lengths = ['0', '12345', '18446744073709551615'].map(
      (number) => encryptPayload(keys.cursors, 'events', [number, '0190e1a0-7b6c-7c43-9d13-9f6cbd2f4f5a']).length,
    )
    expect(new Set(lengths).size).toBe(1)
  })

  test('is invalid after any change, truncation or addition', () => {
    const cuts = encrypted.split('').map((_character, at) => encrypted.slice(0, at))
    const more = [`${encrypted}=`, `${encrypted}.`, ` ${encrypted}`, `${encrypted}${encrypted}`, '\u0000', 'é', '[]']
    const wrong = [...changeEachCharacter(encrypted), ...cuts, ...more, 'a'.repeat(100_000)]
    expect(wrong.filter((text) => decryptPayload(keys.cursors, 'contacts', text))).toEqual([])
  })
})

describe('a sealed payload', () => {
  const sealed = sealPayload(keys.links, 'confirm', ['a@example.com', 1])

  test('opens, is the same each time, and shows no part of it', () => {
    expect(openPayload(keys.links, 'confirm', sealed)).toEqual(['a@example.com', 1])
    expect(sealPayload(keys.links, 'confirm', ['a@example.com', 1])).toBe(sealed)
    expect(sealed).toMatch(/^[\w-]+$/)
    expect(Buffer.from(sealed, 'base64url').includes('example')).toBe(false)
  })

  test('is valid for its own purpose, key and text only', () => {
    expect(openPayload(keys.links, 'unsubscribe', sealed)).toBeUndefined()
    expect(openPayload(otherKeys.links, 'confirm', sealed)).toBeUndefined()
    expect(decryptPayload(keys.links, 'confirm', sealed)).toBeUndefined()
    expect(changeEachCharacter(sealed).filter((wrong) => openPayload(keys.links, 'confirm', wrong))).toEqual([])
  })
})

describe('a signed payload', () => {
  const signed = signPayload(keys.links, 'confirm', ['a', 1, 'é"'])

  test('verifies and is safe in a URL', () => {
    expect(verifyPayload(keys.links, 'confirm', signed)).toEqual(['a', 1, 'é"'])
    expect(signed).toMatch(/^[\w-]+\.[\w-]{24}$/)
  })

  test('is valid for its own purpose and key only', () => {
    expect(verifyPayload(keys.links, 'unsubscribe', signed)).toBeUndefined()
    expect(verifyPayload(keys.cursors, 'confirm', signed)).toBeUndefined()
    expect(verifyPayload(otherKeys.links, 'confirm', signed)).toBeUndefined()
  })

  test('is invalid after a change of any character', () => {
    expect(changeEachCharacter(signed).filter((wrong) => verifyPayload(keys.links, 'confirm', wrong))).toEqual([])
  })

  test('is invalid when truncated, repeated, padded or empty', () => {
    const [body, mac] = signed.split('.')
    const wrong = [
      '',
      '.',
      `${body}.`,
      `.${mac}`,
      `${body}`,
      `${signed}.`,
      `${signed}.${mac}`,
      `${body}=.${mac}`,
      `${signed}=`,
    ]
    const more = ['\u0000.\u0000', `${body}.${'é'.repeat(24)}`, 'a'.repeat(100_000)]
    expect([...wrong, ...more].filter((text) => verifyPayload(keys.links, 'confirm', text))).toEqual([])
  })

  test('keeps purpose and payload apart', () => {
    const one = signPayload(keys.links, 'a', ['b'])
    expect(verifyPayload(keys.links, 'a\nWyJiIl0', one)).toBeUndefined()
  })
})

describe('a token', () => {
  test('has 256 random bits after a prefix that secret scanners detect', () => {
    const tokens = Array.from({ length: 1000 }, () => newToken('rpk'))
    for (const token of tokens) expect(token).toMatch(/^rpk_[\w-]{43}$/)
    expect(new Set(tokens).size).toBe(1000)
  })

  test('has a hash that does not contain it', () => {
    const token = newToken('rps')
    expect(hashToken(token)).toBe(hashToken(token))
    expect(hashToken(token)).not.toContain(token.slice(4, 12))
    expect(hashToken(token)).not.toBe(hashToken(newToken('rps')))
  })
})

test('a former SECRET_KEY verifies and decrypts, but never signs or encrypts', () => {
  const changed = deriveKeys('the current secret of this installation', [
    'the former secret of this installation',
    testSecret,
  ])
  expect(verifyPayload(changed.links, 'confirm', signPayload(keys.links, 'confirm', ['a']))).toEqual(['a'])
  expect(unseal(changed, seal(keys, 'text', 'row'), 'row')).toBe('text')
  expect(decryptPayload(changed.cursors, 'lists', encryptPayload(keys.cursors, 'lists', ['a']))).toEqual(['a'])
  expect(verifyPayload(keys.links, 'confirm', signPayload(changed.links, 'confirm', ['a']))).toBeUndefined()
  expect(() => unseal(keys, seal(changed, 'text', 'row'), 'row')).toThrow('encrypted with another SECRET_KEY')
})

test('each purpose has its own key, derived from SECRET_KEY alone', () => {
  const { cursors, links, storage } = keys
  expect(new Set([cursors, links, storage].map(([key]) => key.toString('hex'))).size).toBe(3)
  expect(deriveKeys(testSecret)).toEqual(keys)
})
