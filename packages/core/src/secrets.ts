/** Keys, tokens and sealed values. Everything derives from SECRET_KEY, one key for each purpose (RFC 5869). */
import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto'

export interface Keys {
  readonly cursors: Buffer
  readonly links: Buffer
  readonly tokens: Buffer
  readonly optOuts: Buffer
  readonly storage: Buffer
  /** Names the storage key in what was sealed with it, so that it can be replaced one day. */
  readonly storageKeyId: string
}

export function deriveKeys(secretKey: string): Keys {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', secretKey, 'rapport', purpose, 32))
  const storage = derive('storage')
  return {
    cursors: derive('cursors'),
    links: derive('links'),
    tokens: derive('tokens'),
    optOuts: derive('opt-outs'),
    storage,
    storageKeyId: createHash('sha256').update(storage).digest('hex').slice(0, 8),
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
export function mailToken(keys: Keys, prefix: 'rpi' | 'rpr', id: string): string {
  return `${prefix}_${createHmac('sha256', keys.tokens).update(`${prefix} ${id}`).digest('base64url')}`
}

/** What is stored of a credential. A plain hash will do for 256 random bits: there is nothing to guess. */
export function hashToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

/** `payload` with its HMAC, for a link: base64url parts joined by a dot. */
export function signPayload(key: Buffer, purpose: string, payload: readonly (string | number)[]): string {
  const body = Buffer.from(JSON.stringify(payload)).toString('base64url')
  return `${body}.${macOf(key, purpose, body)}`
}

/** The payload of what `signPayload` made for the same purpose; undefined when one bit differs. */
export function openPayload(key: Buffer, purpose: string, signed: string): (string | number)[] | undefined {
  const [body, mac, ...rest] = signed.split('.')
  if (!body || !mac || rest.length > 0) return undefined
  const expected = Buffer.from(macOf(key, purpose, body))
  const given = Buffer.from(mac)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
  return JSON.parse(Buffer.from(body, 'base64url').toString()) as (string | number)[]
}

function macOf(key: Buffer, purpose: string, body: string) {
  return createHmac('sha256', key).update(`${purpose}\n${body}`).digest().subarray(0, 18).toString('base64url')
}

/** Encrypts for the database (AES-256-GCM). `boundTo` names the row: moved to another row, the value no longer opens. */
export function seal(keys: Keys, text: string, boundTo: string): string {
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', keys.storage, iv).setAAD(Buffer.from(boundTo))
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
  return [keys.storageKeyId, iv, cipher.getAuthTag(), sealed]
    .map((part) => (typeof part === 'string' ? part : part.toString('base64url')))
    .join('.')
}

/** Opens what `seal` made for the same row. Throws when it was sealed under another SECRET_KEY or tampered with. */
export function unseal(keys: Keys, sealed: string, boundTo: string): string {
  const [keyId, iv, tag, body, ...rest] = sealed.split('.')
  if (keyId !== keys.storageKeyId || !iv || !tag || body === undefined || rest.length > 0) {
    throw new Error('A stored secret was sealed under another SECRET_KEY')
  }
  // The length is said, as a tag that was cut short would be accepted, and could be guessed.
  const decipher = createDecipheriv('aes-256-gcm', keys.storage, Buffer.from(iv, 'base64url'), { authTagLength: 16 })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(Buffer.from(tag, 'base64url'))
  return decipher.update(body, 'base64url', 'utf8') + decipher.final('utf8')
}
