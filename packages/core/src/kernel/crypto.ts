/** Keys, tokens and encrypted values. SECRET_KEY is never used directly: each purpose has a derived key (RFC 5869). */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'
import { hashText } from './values/encode-text.ts'

/** The current key, followed by the keys of former SECRET_KEYs. Only the current key signs and encrypts. */
export type KeyRing = readonly [Buffer, ...Buffer[]]

export interface Keys {
  readonly cursors: KeyRing
  readonly links: KeyRing
  readonly tokens: KeyRing
  readonly optOuts: KeyRing
  readonly storage: KeyRing
  readonly returnPaths: KeyRing
  readonly requests: KeyRing
}

/** Values that were signed or encrypted with a former SECRET_KEY stay valid. */
export function deriveKeys(secretKey: string, formerSecretKeys: readonly string[] = []): Keys {
  const derive = (secret: string, purpose: string) => Buffer.from(hkdfSync('sha256', secret, 'rapport', purpose, 32))
  const ring = (purpose: string): KeyRing => [
    derive(secretKey, purpose),
    ...formerSecretKeys.map((secret) => derive(secret, purpose)),
  ]
  return {
    cursors: ring('encrypted cursors'),
    links: ring('links'),
    tokens: ring('tokens'),
    optOuts: ring('opt-outs'),
    storage: ring('storage'),
    returnPaths: ring('return paths'),
    requests: ring('requests'),
  }
}

export type TokenPrefix = 'rpk' | 'rps'

/** Creates a token: 256 random bits after a prefix that secret scanners detect (`rpk_` API key, `rps_` session). */
export function newToken(prefix: TokenPrefix): string {
  return `${prefix}_${randomBytes(32).toString('base64url')}`
}

/**
 * Derives the token of an email, 256 bits after a prefix (`rpi_` invite, `rpr_` password reset), from the id of its
 * row. A worker can render the email, or render it again, without a stored token.
 */
export function deriveMailToken(keys: Keys, prefix: MailTokenPrefix, id: string): string {
  return deriveToken(keys.tokens[0], prefix, id)
}

/** Derives the token that matches a stored hash, also after a change of SECRET_KEY. Undefined if its key is unknown. */
export function findStoredMailToken(
  keys: Keys,
  prefix: MailTokenPrefix,
  { id, tokenHash }: { id: string; tokenHash: string },
): string | undefined {
  return keys.tokens.map((key) => deriveToken(key, prefix, id)).find((token) => hashToken(token) === tokenHash)
}

type MailTokenPrefix = 'rpi' | 'rpr'

function deriveToken(key: Buffer, prefix: MailTokenPrefix, id: string): string {
  return `${prefix}_${createHmac('sha256', key).update(`${prefix} ${id}`).digest('base64url')}`
}

/** Hashes a credential for storage. Tokens have 256 random bits, so a plain hash is enough. */
export function hashToken(token: string): string {
  return hashText(token)
}

/** Returns the payload and its HMAC for a link: two base64url parts, joined by a dot. */
export function signPayload([key]: KeyRing, purpose: string, payload: readonly (string | number)[]): string {
  const body = Buffer.from(JSON.stringify(payload)).toString('base64url')
  return `${body}.${computeMac(key, purpose, body)}`
}

/** Returns the payload that `signPayload` signed for the same purpose; undefined if the signature does not match. */
export function verifyPayload(keys: KeyRing, purpose: string, signed: string): (string | number)[] | undefined {
  const [body, mac, ...rest] = signed.split('.')
  if (!body || !mac || rest.length > 0) return undefined
  const actual = Buffer.from(mac)
  const isSignedWith = (key: Buffer) => {
    const expected = Buffer.from(computeMac(key, purpose, body))
    return actual.length === expected.length && timingSafeEqual(actual, expected)
  }
  if (!keys.some(isSignedWith)) return undefined
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as (string | number)[]
}

function computeMac(key: Buffer, purpose: string, body: string) {
  return createHmac('sha256', key).update(`${purpose}\n${body}`).digest().subarray(0, 18).toString('base64url')
}

/**
 * Encrypts a payload that only Rapport reads again, such as the position of a cursor, for one purpose (AES-256-GCM).
 * Its length does not show the number of digits of a number in it.
 */
export function encryptPayload([key]: KeyRing, purpose: string, payload: readonly (string | number)[]): string {
  const text = JSON.stringify(payload)
  // The parser ignores spaces after JSON.
  const padded = text.padEnd(Math.ceil(text.length / 64) * 64)
  return Buffer.concat(encrypt(key, padded, purpose)).toString('base64url')
}

/** Decrypts a payload of the same purpose. Returns undefined if its key is unknown or it was changed. */
export function decryptPayload(
  keys: readonly Buffer[],
  purpose: string,
  encrypted: string,
): (string | number)[] | undefined {
  const bytes = Buffer.from(encrypted, 'base64url')
  // The decoder of Node ignores invalid characters and unused bits.
  if (bytes.length <= 28 || bytes.toString('base64url') !== encrypted) return undefined
  const parts = [bytes.subarray(0, 12), bytes.subarray(12, 28), bytes.subarray(28)] as const
  for (const key of keys) {
    try {
      return JSON.parse(decrypt(key, parts, purpose)) as (string | number)[]
    } catch {
      // Encrypted with another key, or changed.
    }
  }
  return undefined
}

/**
 * Encrypts the payload of a link, for one purpose (AES-256-GCM). The nonce is derived from the payload, so that the same
 * link is mailed again after a crash.
 */
export function sealPayload([key]: KeyRing, purpose: string, payload: readonly (string | number)[]): string {
  const text = JSON.stringify(payload)
  const iv = createHmac('sha256', key).update(`nonce\n${purpose}\n${text}`).digest().subarray(0, 12)
  return Buffer.concat(encryptWith({ iv, key: toSealingKey(key) }, text, purpose)).toString('base64url')
}

/** Decrypts a link of the same purpose. Returns undefined if its key is unknown or it was changed. */
export function openPayload(keys: KeyRing, purpose: string, sealed: string): (string | number)[] | undefined {
  return decryptPayload(keys.map(toSealingKey), purpose, sealed)
}

/** The same for the token of an opt-out, which may follow the rest of an `=` as `=3D`. */
export function openRepairedPayload(keys: KeyRing, purpose: string, sealed: string): (string | number)[] | undefined {
  return openPayload(keys, purpose, sealed) ?? openPayload(keys, purpose, sealed.replace(/^3D/i, ''))
}

const toSealingKey = (key: Buffer) => createHmac('sha256', key).update('sealed payloads').digest()

/**
 * Encrypts a value for the database (AES-256-GCM). `boundTo` names the row: copied to another row, the value cannot be
 * decrypted. The result starts with the id of its key, so that keys can be rotated.
 */
export function seal({ storage: [key] }: Keys, text: string, boundTo: string): string {
  return [getKeyId(key), ...encrypt(key, text, boundTo).map((part) => part.toString('base64url'))].join('.')
}

/** Decrypts a value that `seal` encrypted for the same row. Throws if its key is unknown or the value was changed. */
export function unseal(keys: Keys, sealed: string, boundTo: string): string {
  const [keyId, iv, tag, body, ...rest] = sealed.split('.')
  const key = keys.storage.find((candidate) => getKeyId(candidate) === keyId)
  if (!key || !iv || !tag || body === undefined || rest.length > 0) {
    throw new Error('A stored secret was encrypted with another SECRET_KEY')
  }
  const toBytes = (part: string) => Buffer.from(part, 'base64url')
  return decrypt(key, [toBytes(iv), toBytes(tag), toBytes(body)], boundTo)
}

/** Whether `unseal` returns the value. */
export function canUnseal(keys: Keys, sealed: string, boundTo: string): boolean {
  try {
    unseal(keys, sealed, boundTo)
    return true
  } catch {
    return false
  }
}

type EncryptedParts = readonly [iv: Buffer, tag: Buffer, body: Buffer]

function encrypt(key: Buffer, text: string, boundTo: string): EncryptedParts {
  return encryptWith({ iv: randomBytes(12), key }, text, boundTo)
}

function encryptWith({ iv, key }: Record<'iv' | 'key', Buffer>, text: string, boundTo: string): EncryptedParts {
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(boundTo))
  const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return [iv, cipher.getAuthTag(), body]
}

function decrypt(key: Buffer, [iv, tag, body]: EncryptedParts, boundTo: string): string {
  // Without an explicit length Node accepts a truncated tag, which is easier to guess.
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: 16 })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(tag)
  return decipher.update(body, undefined, 'utf8') + decipher.final('utf8')
}

/** The ids of all known storage keys. Every encrypted value starts with the id of its key. */
export function storageKeyIds({ storage }: Keys): string[] {
  return storage.map(getKeyId)
}

function getKeyId(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8)
}

/** Compares two secrets in constant time. */
export function isSameSecret(actual: string, expected: string): boolean {
  const [a, b] = [actual, expected].map((text) => createHash('sha256').update(text).digest())
  return timingSafeEqual(a as Buffer, b as Buffer)
}
