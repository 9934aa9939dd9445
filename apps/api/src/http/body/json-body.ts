import { AppError, invalidField } from '@rapport/core/kernel/errors.ts'
import { findRepeatedKey } from '@rapport/core/kernel/repeated-key.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { requirePlainUtf8 } from './body-encoding.ts'

const maxDepth = 32
/** Upper bound on JSON values: well above any valid body, cheap to walk. */
const maxValues = 10_000
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

/**
 * Parses JSON bodies (RFC 8259). Rejects text that could not be stored unchanged (invalid UTF-8, lone surrogates, NUL),
 * bodies that could overflow the stack or pollute a prototype, a key that stands twice, and any other content type. An empty body becomes
 * `undefined`; a route that requires a body rejects it.
 */
export const jsonBody = fp(
  async (app: FastifyInstance) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer' },
      async (request: FastifyRequest, raw: Buffer) => {
        requirePlainUtf8(request)
        return raw.length === 0 ? undefined : parseJson(raw)
      },
    )
  },
  { name: 'json-body', dependencies: ['error-handler'] },
)

function parseJson(raw: Buffer): unknown {
  let text: string
  let value: unknown
  try {
    text = utf8.decode(raw)
    value = JSON.parse(text)
  } catch {
    throw new AppError('validation_error', 'The body is not valid JSON')
  }
  checkValue(value)
  const twice = findRepeatedKey(text, value)
  if (twice !== undefined) throw invalidField(twice, `${twice}: must be sent only once`)
  return value
}

/** Walks the value without recursion: deep nesting must not overflow the stack. */
function checkValue(root: unknown) {
  const pending: { value: unknown; path: string; depth: number }[] = [{ value: root, path: '', depth: 0 }]
  let values = 0
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { value, path, depth } = next
    if (typeof value === 'string') checkText(value, path)
    if (typeof value !== 'object' || value === null) continue
    if (depth >= maxDepth) throw new AppError('validation_error', `The body is nested deeper than ${maxDepth} levels`)
    values += Array.isArray(value) ? value.length : Object.keys(value).length
    if (values > maxValues) throw new AppError('validation_error', `The body has more than ${maxValues} values`)
    for (const [key, item] of Object.entries(value)) {
      checkText(key, path)
      const itemPath = path ? `${path}.${key}` : key
      // JSON.parse creates an ordinary property, but copying the value would set the prototype.
      if (key === '__proto__') throw invalidField(itemPath, `${itemPath}: unknown field`)
      pending.push({ value: item, path: itemPath, depth: depth + 1 })
    }
  }
}

function checkText(text: string, path: string) {
  const where = path || 'body'
  if (!text.isWellFormed()) throw invalidField(path, `${where}: must be valid Unicode`)
  if (text.includes('\u0000')) throw invalidField(path, `${where}: must not contain control characters`)
}
