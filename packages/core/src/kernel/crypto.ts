/** Keys, tokens and sealed values. Everything derives from SECRET_KEY, one key for each purpose (RFC 5869). */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hash,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

/** The present key first, then those of former SECRET_KEYs: what is made is made with the first, all are good to open. */
export type KeyRing = readonly [Buffer, ...Buffer[]]

export interface Keys {
  readonly cursors: KeyRing
  readonly links: KeyRing
  readonly tokens: KeyRing
  readonly optOuts: KeyRing
  readonly storage: KeyRing
}

/** What was signed or sealed under a former SECRET_KEY still opens. */
export function deriveKeys(secretKey: string, formerSecretKeys: readonly string[] = []): Keys {
  const derive = (secret: string, purpose: string) => Buffer.from(hkdfSync('sha256', secret, 'rapport', purpose, 32))
  const ring = (purpose: string): KeyRing => [
    derive(secretKey, purpose),
    ...formerSecretKeys.map((secret) => derive(secret, purpose)),
  ]
  return {
    cursors: ring('cursors'),
    links: ring('links'),
    tokens: ring('tokens'),
    optOuts: ring('opt-outs'),
    storage: ring('storage'),
  }
}

export type TokenPrefix = 'rpk' | 'rps'

/** A new credential: 256 random bits behind a prefix that secret scanners can find (`rpk_` API key, `rps_` session). */
export function newToken(prefix: TokenPrefix): string {
  return `${prefix}_${randomBytes(32).toString('base64url')}`
}

/**
 * The token of a mail, 256 bits behind a prefix (`rpi_` invite, `rpr_` password reset). It is made from the id of its row,
 * so that the worker who writes the mail, or writes it again, needs no secret but the key.
 */
export function deriveMailToken(keys: Keys, prefix: MailTokenPrefix, id: string): string {
  return deriveToken(keys.tokens[0], prefix, id)
}

/** The same for a row whose hash is stored, though SECRET_KEY changed since; undefined when its key is not known. */
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

/** What is stored of a credential. A plain hash will do for 256 random bits: there is nothing to guess. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'base64url')
}

/** `payload` with its HMAC, for a link: base64url parts joined by a dot. */
export function signPayload([key]: KeyRing, purpose: string, payload: readonly (string | number)[]): string {
  const body = Buffer.from(JSON.stringify(payload)).toString('base64url')
  return `${body}.${computeMac(key, purpose, body)}`
}

/** The payload of what `signPayload` made for the same purpose; undefined when one bit differs. */
export function verifyPayload(keys: KeyRing, purpose: string, signed: string): (string | number)[] | undefined {
  const [body, mac, ...rest] = signed.split('.')
  if (!body || !mac || rest.length > 0) return undefined
  const given = Buffer.from(mac)
  const isSignedWith = (key: Buffer) => {
    const expected = Buffer.from(computeMac(key, purpose, body))
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
  if (!keys.some(isSignedWith)) return undefined
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as (string | number)[]
}

function computeMac(key: Buffer, purpose: string, body: string) {
  return createHmac('sha256', key).update(`${purpose}\n${body}`).digest().subarray(0, 18).toString('base64url')
}

/**
 * Encrypts for the database (AES-256-GCM). `boundTo` names the row: moved to another row, the value no longer opens.
 * The value begins with the name of its key, so that the key can be replaced.
 */
export function seal({ storage: [key] }: Keys, text: string, boundTo: string): string {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(boundTo))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  const parts = [iv, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'))
  return [getKeyId(key), ...parts].join('.')
}

/** Opens what `seal` made for the same row. Throws when it was sealed under an unknown SECRET_KEY or tampered with. */
export function unseal(keys: Keys, sealed: string, boundTo: string): string {
  const [keyId, iv, tag, body, ...rest] = sealed.split('.')
  const key = keys.storage.find((candidate) => getKeyId(candidate) === keyId)
  if (!key || !iv || !tag || body === undefined || rest.length > 0) {
    throw new Error('A stored secret was sealed under another SECRET_KEY')
  }
  // The length is said, as a tag that was cut short would be accepted, and could be guessed.
  const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(iv, 'base64url'), { authTagLength: 16 })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(Buffer.from(tag, 'base64url'))
  return decipher.update(body, 'base64url', 'utf8') + decipher.final('utf8')
}

/** The names of the keys that open what is sealed: each sealed value begins with that of its own. */
export function storageKeyIds({ storage }: Keys): string[] {
  return storage.map(getKeyId)
}

function getKeyId(key: Buffer): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 8)
}

/** Compares a secret that is given with the one that is expected, in a time that tells nothing. */
export function isSameSecret(given: string, expected: string): boolean {
  const [a, b] = [given, expected].map((text) => createHash('sha256').update(text).digest())
  return timingSafeEqual(a as Buffer, b as Buffer)
}
