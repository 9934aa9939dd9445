import { PassThrough } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { httpErrors } from '@fastify/sensible'
import { AppError } from '@rapport/core/kernel/errors.ts'
import type { FastifyRequest } from 'fastify'

/** A sender who sends nothing for so long has gone. */
const defaultIdleMs = 30_000

/**
 * The body of a request as it comes, unpacked when it is gzip, at the pace at which it is read. Throws what the sender
 * can be told: the body broke off, stands still, is not gzip. When `stopping` is aborted the rest is refused, as the
 * server is about to end. The request itself is never destroyed, so that it can be answered.
 */
export async function* readUpload(
  request: FastifyRequest,
  { stopping, idleMs = defaultIdleMs }: { stopping: AbortSignal; idleMs?: number },
): AsyncGenerator<Buffer> {
  const { raw } = request
  const encoding = request.headers['content-encoding']?.toLowerCase() ?? 'identity'
  const body = encoding === 'identity' ? new PassThrough() : createGunzip({ chunkSize: 65_536 })
  const fail = (error: Error) => void body.destroy(error)
  const failIncomplete = () => raw.complete || fail(httpErrors.badRequest('The body broke off'))
  const stop = () => fail(new AppError('unavailable', 'The server is about to restart: try again'))
  const watch = watchProgress(raw, idleMs, () => {
    // Nothing can come while what came is not read yet.
    if (!body.writableNeedDrain) fail(httpErrors.requestTimeout(`Nothing came for ${idleMs / 1000} seconds`))
  })
  raw.once('error', failIncomplete).once('close', failIncomplete)
  stopping.addEventListener('abort', stop)
  try {
    if (stopping.aborted) stop()
    raw.pipe(body)
    for await (const piece of body) yield piece as Buffer
  } catch (error) {
    const isZlib = String((error as NodeJS.ErrnoException).code).startsWith('Z_')
    throw isZlib ? new AppError('invalid', 'The body is not valid gzip') : error
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
