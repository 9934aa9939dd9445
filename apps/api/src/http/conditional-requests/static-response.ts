/** Responses whose body is the same for every client: documentation, the OpenAPI document, scripts. */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { negotiate } from '@fastify/accept-negotiator'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { computeEntityTag, isNotModified } from './entity-tags.ts'

interface StaticContent {
  /** The content type. */
  type: string
  headers?: Record<string, string>
  /** Builds the body. Called once, at the first request. */
  build: () => string | Promise<string | Uint8Array>
}

/**
 * Returns the handler of a route. The body is built and compressed once for each process, at the first request, in
 * threads. Clients keep it and revalidate it with its ETag, so that a new release is visible at once.
 */
export function staticResponse({ type, headers = {}, build }: StaticContent) {
  let prepared: Promise<Prepared> | undefined
  async function prepareOnce(): Promise<Prepared> {
    prepared ??= prepare(build)
    try {
      return await prepared
    } catch (error) {
      prepared = undefined
      throw error
    }
  }
  return async function sendStatic(request: FastifyRequest, reply: FastifyReply) {
    const { tag, bodies } = await prepareOnce()
    const accepted = negotiate(request.headers['accept-encoding'] ?? '', encodings)
    const encoding = encodings.find((one) => one === accepted) ?? 'identity'
    // Each encoding is another representation, so a strong ETag differs.
    const etag = encoding === 'identity' ? tag : tag.replace(/"$/, `-${encoding}"`)
    reply.headers({ ...headers, etag }).vary('accept-encoding')
    reply.cacheControl('public').cacheControl('no-cache')
    if (isNotModified(request.headers['if-none-match'], etag)) return reply.code(304).send()
    if (encoding !== 'identity') reply.header('content-encoding', encoding)
    return reply.type(type).send(bodies[encoding])
  }
}

type Encoding = 'br' | 'gzip' | 'identity'
/** By preference. */
const encodings: Encoding[] = ['br', 'gzip', 'identity']

interface Prepared {
  tag: string
  bodies: Record<Encoding, Buffer>
}

async function prepare(build: StaticContent['build']): Promise<Prepared> {
  const identity = Buffer.from(await build())
  const [br, gzipped] = await Promise.all([compressBrotli(identity), promisify(gzip)(identity)])
  return { tag: computeEntityTag(identity), bodies: { br, gzip: gzipped, identity } }
}

/** Quality 6 takes a quarter of the time of quality 9, for 3 % more bytes. */
const compressBrotli = (body: Buffer) =>
  promisify(brotliCompress)(body, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_SIZE_HINT]: body.length },
  })
