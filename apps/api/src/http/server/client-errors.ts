import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { errorCodes } from '@rapport/core/kernel/errors.ts'
import { requestIdOf } from './request-id.ts'

type Code = (typeof errorCodes)[number]

interface ClientError extends Error {
  code?: string
  /** Undefined if not even the headers could be read. */
  requestId?: string
}

const invalidRequest = [400, 'validation_error', 'The request is not valid HTTP'] as const
/** By code of Node's HTTP parser. */
const responses: Record<string, readonly [status: number, code: Code, message: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request was sent too slowly'],
  HPE_HEADER_OVERFLOW: [431, 'payload_too_large', 'The headers of the request are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'payload_too_large', 'The chunk extensions of the request are too large'],
}

/**
 * Responds to requests that Node cannot parse, or that are sent too slowly: Fastify never sees them. Closes the
 * connection, because the next request could start anywhere.
 */
export const clientErrorHandler = (errorDocs: string) => (error: ClientError, socket: Socket) => {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const [statusCode, code, message] = responses[error.code ?? ''] ?? invalidRequest
  const { requestId = requestIdOf({ headers: {} }) } = error
  const reason = STATUS_CODES[statusCode] ?? ''
  const body = JSON.stringify({ statusCode, message, error: reason, code, docUrl: `${errorDocs}#${code}` })
  const head = [
    `HTTP/1.1 ${statusCode} ${reason}`,
    `date: ${new Date().toUTCString()}`,
    `x-request-id: ${requestId}`,
    'x-content-type-options: nosniff',
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  if (socket.writable) socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.destroy(error)
}
