import type { IncomingMessage } from 'node:http'
import { AppError } from '@rapport/core/kernel/errors.ts'
import type { FastifyInstance } from 'fastify'

/** Makes the routes of a plugin accept the forms of its pages, and nothing else. */
export function acceptPostedForms(app: FastifyInstance): void {
  // The parser of JSON is that of the whole API.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(formType, { parseAs: 'buffer' }, async (_: unknown, raw: Buffer) => parsePostedForm(raw))
}

const formType = 'application/x-www-form-urlencoded'

/**
 * Discards the bodies that the routes of a plugin get, whatever they are: the token is sufficient, and mail clients send
 * more than RFC 8058 allows. Without the header, the parser for any type applies, also to a content type that Fastify
 * considers invalid. The route `except` reads the forms that its page posts.
 */
export function discardBodies(app: FastifyInstance, { except }: { except?: string } = {}): void {
  app.addHook('onRequest', async ({ headers, routeOptions }) => {
    if (routeOptions.url !== except || headers['content-type'] !== formType) delete headers['content-type']
  })
  if (except !== undefined)
    app.addContentTypeParser(formType, { parseAs: 'buffer' }, async (_: unknown, raw: Buffer) => parsePostedForm(raw))
  app.addContentTypeParser('*', async (_request: unknown, payload: IncomingMessage) => void payload.resume())
}

/**
 * Parses a posted form (WHATWG `application/x-www-form-urlencoded`). Rejects duplicate fields, and text that is not
 * UTF-8. Line breaks become LF: a browser posts CRLF, but counts one character against the length limit.
 */
export function parsePostedForm(raw: Buffer): Record<string, string> {
  const pairs = raw.toString('latin1').split('&').filter(Boolean)
  if (pairs.length > 1_000) throw new AppError('validation_error', 'The form has more than 1,000 fields')
  const entries = pairs.map((pair) => {
    const [, name = '', value = ''] = /^([^=]*)=?([^]*)$/.exec(pair) ?? []
    return [decodePostedText(name), decodePostedText(value).replaceAll('\r\n', '\n')] as const
  })
  if (new Set(entries.map(([name]) => name)).size < entries.length) {
    throw new AppError('validation_error', 'The form has a duplicate field')
  }
  return Object.fromEntries(entries)
}

function decodePostedText(text: string): string {
  try {
    if (/[^\u0000-\u007f]/.test(text)) throw new URIError('browsers percent-encode non-ASCII characters')
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new AppError('validation_error', 'The form is not encoded in UTF-8')
  }
}
