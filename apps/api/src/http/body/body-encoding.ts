import { MIMEType } from 'node:util'
import { httpErrors } from '@fastify/sensible'
import type { FastifyRequest } from 'fastify'

/** The labels of ASCII in IANA's registry. WHATWG counts them as Windows-1252. */
const ascii =
  /^(us-ascii|ascii|us|ansi_x3\.4-19(68|86)|iso-?646-us|iso_646\.irv:1991|iso-ir-6|ibm367|cp367|csascii|646)$/i

/**
 * Requires a body whose bytes are UTF-8, and that is not compressed. Accepts each label of UTF-8 in the WHATWG Encoding
 * Standard, and ASCII, which is a subset of it.
 */
export function requirePlainUtf8({ headers }: FastifyRequest): void {
  requireUtf8(headers['content-type'] ?? '')
  requireIdentity(headers['content-encoding'] ?? '')
}

/** Throws a 415 that names the charset of a content type if it is not UTF-8. */
export function requireUtf8(contentType: string): void {
  const charset = readCharset(contentType)
  if (isUtf8(charset)) return
  throw httpErrors.unsupportedMediaType(`The charset must be utf-8, not ${JSON.stringify(charset.slice(0, 40))}`)
}

function isUtf8(charset: string): boolean {
  if (charset === '' || ascii.test(charset)) return true
  try {
    return new TextDecoder(charset).encoding === 'utf-8'
  } catch {
    return false
  }
}

/** The charset, without the apostrophes that some clients use as quotes. Empty if there is none. */
function readCharset(contentType: string): string {
  try {
    const charset = new MIMEType(contentType).params.get('charset') ?? ''
    return charset.trim().replace(/^'(.*)'$/, '$1')
  } catch {
    return ''
  }
}

function requireIdentity(contentEncoding: string): void {
  const codings = contentEncoding.split(',').map((coding) => coding.trim())
  const unsupported = codings.find((coding) => coding !== '' && coding.toLowerCase() !== 'identity')
  if (unsupported === undefined) return
  const name = JSON.stringify(unsupported.slice(0, 40))
  // RFC 9110, 12.5.3: the header tells the client which codings it may use.
  const headers = { 'accept-encoding': 'identity' }
  throw httpErrors.createError(415, `The content encoding must be identity, not ${name}: send the body uncompressed`, {
    headers,
  })
}
