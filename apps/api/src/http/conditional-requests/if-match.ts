import { AppError } from '@rapport/core/kernel/errors.ts'
import type { Ctx } from '@rapport/core/request/context.ts'
import { inRounds } from '@rapport/core/request/in-rounds.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { type Handler, wrapHandler } from '../handlers/wrap-handler.ts'
import { entityTagOf, readIfMatch, undoCompression } from './entity-tags.ts'

/** The record that `If-Match` of a route is about. */
export interface CurrentRecord<Request> {
  /** The schema of the record in responses, from which its tag is computed. */
  schema: z.ZodType
  /** Locks the record until the transaction ends, and reads it as GET returns it. Undefined: nothing matches (412). */
  lockAndRead: (request: Request) => Promise<unknown>
}

interface ReadableRecord<Request> extends CurrentRecord<Request> {
  /** Reads the record without a lock. Throws `not_found`. */
  read: (request: Request) => Promise<unknown>
}

/** The parts of a request that the functions of a record use: its types are those of the route. */
type RequestOf<Inner> = Inner extends (request: infer Request, ...rest: never) => unknown ? Request : never

/** The record that the path names by its id. `lock` is what its verbs lock first, as deadlocks cost time. */
export function recordById<Id extends string>(
  schema: z.ZodType,
  { lock, read }: { lock: (ctx: Ctx, id: Id) => Promise<unknown>; read: (ctx: Ctx, id: Id) => Promise<unknown> },
): ReadableRecord<{ ctx: Ctx; params: { id: Id } }> {
  return {
    schema,
    async lockAndRead({ ctx, params }) {
      await lock(ctx, params.id)
      return read(ctx, params.id)
    },
    read: ({ ctx, params }) => read(ctx, params.id),
  }
}

/**
 * Supports `If-Match` (RFC 9110 §13) on a route that changes a record. With the header, the handler runs in a
 * transaction that has locked the record and compared its tag, so that of two concurrent changes only one succeeds:
 * `request.ctx.db` is this transaction. It may begin again, see `inRounds`. The handler must return its response: the
 * transaction commits before it is sent.
 */
export function ifMatch<Inner extends Handler>(
  record: CurrentRecord<NoInfer<RequestOf<Inner>>>,
  handler: Inner,
): Inner {
  const ofAny = record as unknown as CurrentRecord<FastifyRequest>
  return wrapHandler(handler, {
    wrapper: 'ifMatch',
    around: (request, reply, handle) => commitIfMatch(request, reply, { record: ofAny, work: handle }),
  })
}

/**
 * Supports `If-Match` on a route that waits for its turn before it writes, such as for the check of templates. The handler
 * does that first, without a transaction, so that no connection and no lock is held meanwhile, and then writes in
 * `commitIfMatch`. The tag is compared before, too: what the handler checks may depend on the record.
 */
export function ifMatchAfter<Inner extends Handler>(
  record: ReadableRecord<NoInfer<RequestOf<Inner>>>,
  handler: Inner,
): Inner {
  const { schema, read } = record as unknown as ReadableRecord<FastifyRequest>
  return wrapHandler(handler, {
    wrapper: 'ifMatch',
    async around(request, _reply, handle) {
      const tags = readIfMatch(request.headers['if-match'])
      if (tags !== undefined) checkTags(tags, entityTagOf(schema, await read(request)))
      return handle()
    },
  })
}

/** Runs `work`, which writes through `request.ctx`, as `ifMatch` runs a handler. */
export async function commitIfMatch<Request extends FastifyRequest, Result>(
  request: Request,
  reply: FastifyReply,
  { record, work }: { record: CurrentRecord<NoInfer<Request>>; work: () => Promise<Result> },
): Promise<Result> {
  const tags = readIfMatch(request.headers['if-match'])
  if (tags === undefined) return work()
  const { ctx } = request
  return inRounds(ctx, async (ctx) => {
    request.ctx = ctx
    const current = await record.lockAndRead(request)
    checkTags(tags, current === undefined ? undefined : entityTagOf(record.schema, current))
    const result = await work()
    if (reply.sent) throw new Error('The response was sent before the commit')
    return result
  }).finally(() => (request.ctx = ctx))
}

/** Strong comparison. `current` is undefined if there is no record. */
function checkTags(tags: '*' | string[], current: string | undefined) {
  if (current === undefined) throw new AppError('precondition_failed', 'There is no record for If-Match')
  if (tags === '*' || tags.includes(current)) return
  const changed = tags.flatMap(undoCompression).find(({ original }) => original === current)
  const additions = changed?.additions.map((addition) => `"${addition}"`).join(' and ')
  throw new AppError(
    'precondition_failed',
    additions
      ? `The ETag is not as the API returned it: a proxy has added ${additions} to it`
      : 'The record has changed since it was read: read it again',
  )
}
