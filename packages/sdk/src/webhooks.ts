/** Verifies webhooks as defined by Standard Webhooks (https://www.standardwebhooks.com), with the Web Crypto API. */
import { WebhookSignatureError } from './errors.ts'
import { Webhooks, type WebhookEvent } from './generated/operations.gen.ts'

/**
 * The headers of a request: those of `fetch`, those of Node's `http`, Express or Fastify, or pairs of names and values, such as
 * a Map.
 */
export type WebhookHeaders =
  | Headers
  | Record<string, string | string[] | undefined>
  | Iterable<readonly [string, string | string[] | undefined]>

export interface UnwrapOptions {
  /** How far `webhook-timestamp` may be from the clock of this machine, in seconds. Default: 300. */
  toleranceSeconds?: number | undefined
}

const defaultToleranceSeconds = 300

/**
 * Verifies the signature of a webhook and returns its event.
 *
 * @param body The body exactly as received: parsed and serialized JSON has another signature.
 * @param secret The secret of the webhook (`whsec_…`), or several secrets of which one must match.
 * @throws WebhookSignatureError if a header is missing, the timestamp is too old or too new, or no signature matches.
 */
// oxlint-disable-next-line max-params -- The same order as in other libraries for Standard Webhooks, plus options.
export async function unwrapWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: string | readonly string[],
  { toleranceSeconds = defaultToleranceSeconds }: UnwrapOptions = {},
): Promise<WebhookEvent> {
  if (typeof body !== 'string' && !ArrayBuffer.isView(body) && !isArrayBuffer(body))
    throw new TypeError('body: must be the text or the bytes as received, not the parsed JSON')
  const secrets = [secret].flat()
  if (secrets.length === 0) throw new TypeError('secret: is required')
  const read = createHeaderReader(headers)
  const [id, timestamp, signatures] = [read('webhook-id'), read('webhook-timestamp'), read('webhook-signature')]
  const ageSeconds = /^\d+$/.test(timestamp) ? Date.now() / 1_000 - Number(timestamp) : Number.NaN
  // In this form, NaN is never within the tolerance.
  if (!(Math.abs(ageSeconds) <= toleranceSeconds))
    throw new WebhookSignatureError(`webhook-timestamp: ${timestamp} is not within ${toleranceSeconds} s of now`)

  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`)
  // Not compared as texts: `verify` takes the same time for every wrong signature.
  for (const key of await Promise.all(secrets.map(importSecret))) {
    for (const signature of decodeSignatures(signatures)) {
      if (await crypto.subtle.verify('HMAC', key, signature, signed)) return JSON.parse(text) as WebhookEvent
    }
  }
  throw new WebhookSignatureError('webhook-signature: no signature matches the body and the secret')
}

/** The operations of webhooks, and the verification of what they deliver. */
export class WebhooksWithUnwrap extends Webhooks {
  /** See `unwrapWebhook`. */
  unwrap = unwrapWebhook
}

/**
 * Reads headers by their names in lower case, the usual ones, but gateways such as API Gateway keep the case of the names. The
 * pairs are read once: an iterator such as `headers.entries()` has them only once.
 */
function createHeaderReader(headers: WebhookHeaders): (name: string) => string {
  const pairs = [...(isPairs(headers) ? headers : Object.entries(headers))]
  return (name) => {
    const found = isHeaders(headers) ? headers.get(name) : undefined
    const [value] = found
      ? [found].flat()
      : pairs.flatMap(([key, value]) => (key.toLowerCase() === name && value ? [value].flat() : []))
    if (!value) throw new WebhookSignatureError(`${name}: the header is missing`)
    return value
  }
}

const isPairs = (headers: WebhookHeaders): headers is Iterable<readonly [string, string | string[] | undefined]> =>
  Symbol.iterator in headers

/** Not `instanceof`: the buffer of another realm, such as that of a test environment, has a class of its own. */
const isArrayBuffer = (body: unknown): body is ArrayBuffer =>
  typeof body === 'object' && body !== null && Reflect.get(body, Symbol.toStringTag) === 'ArrayBuffer'

/** Not `instanceof`: frameworks have a class of their own. */
const isHeaders = (headers: WebhookHeaders): headers is Headers => 'get' in headers && typeof headers.get === 'function'

/** Throws a TypeError if the secret is not one, which is an error of the configuration and not of the request. */
function importSecret(secret: string): Promise<CryptoKey> {
  const bytes = typeof secret === 'string' ? decodeBase64(secret.replace(/^whsec_/, '')) : undefined
  if (!bytes?.length) throw new TypeError('secret: must be the secret of a webhook (whsec_…)')
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
}

/** The header has several signatures while a secret is being rotated: `v1,<base64> v1,<base64>`. */
function decodeSignatures(header: string): Uint8Array<ArrayBuffer>[] {
  return header.split(' ').flatMap((signature) => {
    const [version, text = ''] = signature.split(',')
    return (version === 'v1' && decodeBase64(text)) || []
  })
}

function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return undefined
  }
}
