import { describe, expect, test } from 'vitest'
import { deriveKeys, hashToken, newToken, verifyPayload, seal, signPayload, unseal } from './crypto.ts'

const testSecret = 'a secret that is known to every test'
const keys = deriveKeys(testSecret)
const otherKeys = deriveKeys('a secret that is known to every tesu')

/** The same text with another character at each place in turn. */
const changeEachCharacter = (text: string) =>
  text.split('').map((character, at) => text.slice(0, at) + (character === 'A' ? 'B' : 'A') + text.slice(at + 1))

describe('what is sealed', () => {
  const sealed = seal(keys, 'whsec_très secret 🦉', 'whk_1')

  test('opens again for the same row, and only as the text it was', () => {
    expect(unseal(keys, sealed, 'whk_1')).toBe('whsec_très secret 🦉')
    expect(unseal(keys, seal(keys, '', 'whk_1'), 'whk_1')).toBe('')
    expect(sealed).not.toContain('whsec')
  })

  test('is another text each time, so that equal secrets do not look equal', () => {
    expect(seal(keys, 'same', 'whk_1')).not.toBe(seal(keys, 'same', 'whk_1'))
  })

  test('does not open for another row', () => {
    for (const row of ['whk_2', 'whk_', 'whk_11', '']) expect(() => unseal(keys, sealed, row)).toThrow()
  })

  test('does not open under another SECRET_KEY, and says so', () => {
    expect(() => unseal(otherKeys, sealed, 'whk_1')).toThrow('sealed under another SECRET_KEY')
  })

  test('does not open when anything in it was changed, cut or added', () => {
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

describe('a signed payload', () => {
  const signed = signPayload(keys.links, 'confirm', ['a', 1, 'é"'])

  test('opens as it was made, and fits a link', () => {
    expect(verifyPayload(keys.links, 'confirm', signed)).toEqual(['a', 1, 'é"'])
    expect(signed).toMatch(/^[\w-]+\.[\w-]{24}$/)
  })

  test('opens for its own purpose and key only', () => {
    expect(verifyPayload(keys.links, 'unsubscribe', signed)).toBeUndefined()
    expect(verifyPayload(keys.cursors, 'confirm', signed)).toBeUndefined()
    expect(verifyPayload(otherKeys.links, 'confirm', signed)).toBeUndefined()
  })

  test('does not open when one character is another, wherever', () => {
    expect(changeEachCharacter(signed).filter((wrong) => verifyPayload(keys.links, 'confirm', wrong))).toEqual([])
  })

  test('does not open cut, doubled, padded or empty', () => {
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

  test('cannot be shifted between purpose and payload', () => {
    const one = signPayload(keys.links, 'a', ['b'])
    expect(verifyPayload(keys.links, 'a\nWyJiIl0', one)).toBeUndefined()
  })
})

describe('a token', () => {
  test('has 256 random bits behind a prefix that scanners find', () => {
    const tokens = Array.from({ length: 1000 }, () => newToken('rpk'))
    for (const token of tokens) expect(token).toMatch(/^rpk_[\w-]{43}$/)
    expect(new Set(tokens).size).toBe(1000)
  })

  test('is kept as a hash that does not hold it', () => {
    const token = newToken('rps')
    expect(hashToken(token)).toBe(hashToken(token))
    expect(hashToken(token)).not.toContain(token.slice(4, 12))
    expect(hashToken(token)).not.toBe(hashToken(newToken('rps')))
  })
})

test('with a former SECRET_KEY named, what it signed and sealed still opens, and nothing new is made with it', () => {
  const changed = deriveKeys('the secret of the time after that', ['the secret of the time before', testSecret])
  expect(verifyPayload(changed.links, 'confirm', signPayload(keys.links, 'confirm', ['a']))).toEqual(['a'])
  expect(unseal(changed, seal(keys, 'text', 'row'), 'row')).toBe('text')
  expect(verifyPayload(keys.links, 'confirm', signPayload(changed.links, 'confirm', ['a']))).toBeUndefined()
  expect(() => unseal(keys, seal(changed, 'text', 'row'), 'row')).toThrow('sealed under another SECRET_KEY')
})

test('each purpose has a key of its own, and the same SECRET_KEY gives the same keys', () => {
  const { cursors, links, storage } = keys
  expect(new Set([cursors, links, storage].map(([key]) => key.toString('hex'))).size).toBe(3)
  expect(deriveKeys(testSecret)).toEqual(keys)
})
