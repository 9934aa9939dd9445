import { MIMEType } from 'node:util'
import { type HttpError, httpErrors } from '@fastify/sensible'
import type { FastifyRequest } from 'fastify'

/** The 415 for a content type that a route does not accept. It names the type, and those that the route accepts. */
export function unsupportedType({ headers, routeOptions }: FastifyRequest): HttpError {
  const accepted = (routeOptions.schema?.consumes ?? ['application/json']).join(' or ')
  const type = headers['content-type']
  return httpErrors.unsupportedMediaType(`The content type must be ${accepted}${type ? `, not ${quote(type)}` : ''}`)
}

/** The labels of ASCII in IANA's registry. WHATWG counts them as Windows-1252. */
const ascii =
  /^(us-ascii|ascii|us|ansi_x3\.4-19(68|86)|iso-?646-us|iso_646\.irv:1991|iso-ir-6|ibm367|cp367|csascii|646)$/i

/**
 * Requires a body whose bytes are UTF-8, and that is not compressed. Accepts each label of UTF-8 in the WHATWG Encoding
 * Standard, and ASCII, which is a subset of it.
 */
export function requirePlainUtf8(request: FastifyRequest): void {
  requireUtf8(request.headers['content-type'] ?? '')
  readCoding(request, ['identity'])
}

/** Throws a 415 that names the charset of a content type if it is not UTF-8. */
export function requireUtf8(contentType: string): void {
  const charset = readCharset(contentType)
  if (isUtf8(charset)) return
  throw httpErrors.unsupportedMediaType(`The charset must be utf-8, not ${quote(charset)}`)
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

const quote = (text: string) => JSON.stringify(text.slice(0, 40))

export type Coding = 'identity' | 'gzip'

/** The coding of a body. Throws a 415 that names one that is not among the `supported` codings, and says which are. */
export function readCoding({ headers }: FastifyRequest, supported: readonly Coding[]): Coding {
  const codings = (headers['content-encoding'] ?? '').split(',').map((coding) => coding.trim())
  const [coding = 'identity', ...others] = codings.filter((name) => !['', 'identity'].includes(name.toLowerCase()))
  // RFC 9110, 8.4.1.3: both names mean the same.
  const known = supported.find((name) => name === coding.toLowerCase().replace(/^x-gzip$/, 'gzip'))
  if (known && others.length === 0) return known
  const wrong = quote([coding, ...(known ? others : [])].join(', '))
  const hint = supported.length === 1 ? ': send the body uncompressed' : ''
  throw httpErrors.createError(415, `The content encoding must be ${supported.join(' or ')}, not ${wrong}${hint}`, {
    // RFC 9110, 12.5.3: the header tells the client which codings it may use.
    headers: { 'accept-encoding': supported.join(', ') },
  })
}
