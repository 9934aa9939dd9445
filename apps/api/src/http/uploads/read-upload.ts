import { PassThrough } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { httpErrors } from '@fastify/sensible'
import { AppError } from '@rapport/core/kernel/errors.ts'
import type { FastifyRequest } from 'fastify'
import type { Coding } from '../body/body-encoding.ts'

/** No file of contacts is compressed better. A small file may be: the first mebibyte is not compared. */
const maxCompressionRatio = 100
const uncomparedBytes = 1_048_576

/**
 * Yields the body of a request as it arrives, decompressed if it is gzip, with backpressure. Throws a client error if
 * the body is incomplete, stalls for `idleMs`, is not valid gzip or expands to too much, and a 503 when `stopping` is aborted
 * because the server shuts down. Never destroys the request, so that a response can be sent.
 */
export async function* readUpload(
  request: FastifyRequest,
  { coding, stopping, idleMs }: { coding: Coding; stopping: AbortSignal; idleMs: number },
): AsyncGenerator<Buffer> {
  const { raw } = request
  const body = coding === 'identity' ? new PassThrough() : createGunzip({ chunkSize: 65_536 })
  const fail = (error: Error) => void body.destroy(error)
  const failIncomplete = () =>
    raw.complete || fail(httpErrors.badRequest('The connection closed before the body was complete'))
  const stop = () => fail(new AppError('unavailable', 'The server is restarting; try again'))
  const watch = watchProgress(raw, idleMs, () => {
    // While received data waits to be read, backpressure stops the client: this is not a stall.
    if (!body.writableNeedDrain) fail(httpErrors.requestTimeout(`No data received for ${idleMs / 1000} seconds`))
  })
  raw.once('error', failIncomplete).once('close', failIncomplete)
  stopping.addEventListener('abort', stop)
  try {
    if (stopping.aborted) stop()
    raw.pipe(body)
    let size = 0
    for await (const piece of body as AsyncIterable<Buffer>) {
      size += piece.length
      // `bytesWritten` is what was decompressed so far.
      if ('bytesWritten' in body && size > uncomparedBytes + maxCompressionRatio * body.bytesWritten) {
        throw new AppError(
          'payload_too_large',
          `The body expands to more than ${maxCompressionRatio} times its compressed size`,
        )
      }
      yield piece
    }
  } catch (error) {
    const isZlib = String((error as NodeJS.ErrnoException).code).startsWith('Z_')
    throw isZlib ? new AppError('validation_error', 'The body is not valid gzip') : error
  } finally {
    clearInterval(watch)
    raw.off('error', failIncomplete).off('close', failIncomplete)
    stopping.removeEventListener('abort', stop)
    raw.unpipe(body)
  }
}

function watchProgress(raw: FastifyRequest['raw'], idleMs: number, onStall: () => void) {
  let bytesRead = raw.socket.bytesRead
  return setInterval(() => {
    if (raw.socket.bytesRead === bytesRead) onStall()
    bytesRead = raw.socket.bytesRead
  }, idleMs)
}
