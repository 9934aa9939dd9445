import { createHash, type Hash } from 'node:crypto'
import { isKnownKey } from '@rapport/core/request/idempotency.ts'
import type { FastifyInstance, FastifyReply, RouteHandlerMethod } from 'fastify'
import { readCoding } from '../body/body-encoding.ts'
import { hashRequest, readIdempotencyKey, responseExpired, runOnce } from '../handlers/idempotency.ts'
import { markHandler } from '../handlers/wrap-handler.ts'
import type { ApiTimings } from '../server/api-timings.ts'
import { createUploadLimit, type LimitUploads } from './concurrent-uploads.ts'
import { type FileFormat, readFileFormat } from './file-formats.ts'
import { readUpload } from './read-upload.ts'

export type UploadTimings = Pick<ApiTimings, 'uploadIdleMs' | 'uploadGraceMs' | 'quotaTtlMs'>

interface Uploads {
  limit: LimitUploads
  /** Aborted some time after the server has started to shut down. */
  stopping: AbortSignal
  idleMs: number
}

export interface UploadedFile extends FileFormat {
  content: AsyncIterable<Buffer>
}

/** What a route does with a file. */
export interface Upload<Request, Id, Result> {
  /** Stores the file while it arrives, and returns the id of what it is stored as. */
  receive: (request: Request, file: UploadedFile) => Promise<Id>
  /** Returns the response. Runs in the transaction that stores the response: `request.ctx.db`. */
  finish: (request: Request, reply: FastifyReply, id: Id) => Promise<Result>
  /** Deletes what `receive` has stored, unless `finish` has committed. Called at the end of every request. */
  discard: (request: Request, id: Id) => Promise<void>
}

/** Lets the routes of a scope receive files: no hook reads a body, whatever its content type is. */
export function acceptFiles(app: FastifyInstance, timings: UploadTimings): Uploads {
  const stopping = new AbortController()
  app.addHook('preClose', async () => {
    setTimeout(() => stopping.abort(), timings.uploadGraceMs).unref()
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async () => undefined)
  return { limit: createUploadLimit(timings), stopping: stopping.signal, idleMs: timings.uploadIdleMs }
}

/**
 * Supports `Idempotency-Key` on a POST whose body is a file, which does not fit into the transaction that stores the
 * response. A repeated request is hashed while it is read, and gets the stored response.
 */
export function idempotentUpload<Request, Id, Result>(
  uploads: Uploads,
  { receive, finish, discard }: Upload<Request, Id, Result>,
): (request: Request, reply: unknown) => Promise<Result> {
  const upload: RouteHandlerMethod = async (request, reply) => {
    const respond = await uploads.limit(request.ctx, async () => {
      const format = readFileFormat(request)
      const coding = readCoding(request, ['gzip', 'identity'])
      const key = readIdempotencyKey(request)
      const hash = createHash('sha256')
      const body = readUpload(request, { coding, stopping: uploads.stopping, idleMs: uploads.idleMs })
      const content = key === undefined ? body : hashWhileReading(body, hash)
      const isRepetition = key !== undefined && (await isKnownKey(request.ctx, key))
      const id = isRepetition ? await skip(content) : await receive(request as never, { ...format, content })
      try {
        // The member may have been demoted, or the workspace suspended, while the file was sent.
        await request.authorize()
        return await runOnce(request, reply, {
          hash: () => hashRequest(request, [format.format, format.encoding, hash.digest('base64url')].join('\n')),
          async work() {
            if (id === undefined) throw responseExpired()
            return finish(request as never, reply, id)
          },
        })
      } finally {
        // What cannot be deleted now, maintenance deletes later.
        if (id !== undefined) await discard(request as never, id).catch(() => {})
      }
    })
    // Only now, so that this upload no longer counts when the client sends the next file.
    return respond()
  }
  return markHandler('idempotent', upload) as (request: Request, reply: unknown) => Promise<Result>
}

async function* hashWhileReading(pieces: AsyncIterable<Buffer>, hash: Hash): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    hash.update(piece)
    yield piece
  }
}

/** A repeated request is answered with the stored response: only the hash of its file is needed. */
async function skip(content: AsyncIterable<Buffer>): Promise<undefined> {
  for await (const piece of content) void piece
}
