import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** Ends a request whose body takes too long to come. */
    bodyTimer: NodeJS.Timeout | undefined
  }
  interface FastifyContextConfig {
    /** The handler reads a body of any length, and itself sees to it that it keeps coming. */
    streamsBody?: boolean
  }
}

/**
 * Refuses, with 408, whoever takes longer than `timeoutMs` to send a body, so that nobody holds a connection for nothing.
 * Node's own `requestTimeout` does the same for every route alike; a route that takes in long files needs to be left
 * out, which Node cannot, and only once it has let the caller in: an answer given before that does not extend the time.
 * The time for the headers is Node's `headersTimeout`.
 */
export function limitSlowRequests(app: FastifyInstance, timeoutMs: number): void {
  app.decorateRequest('bodyTimer')
  app.addHook('onRequest', async (request, reply) => {
    const { raw } = request
    if (raw.headers['content-length'] === undefined && raw.headers['transfer-encoding'] === undefined) return
    request.bodyTimer = setTimeout(() => {
      if (raw.complete) return
      // What Node does when its own timer ends; Fastify answers it.
      if (reply.raw.headersSent) raw.socket.destroy()
      else app.server.emit('clientError', requestTimeout(), raw.socket)
    }, timeoutMs)
    raw.once('close', () => clearTimeout(request.bodyTimer))
  })
  app.addHook('preHandler', async (request) => {
    if (request.routeOptions.config.streamsBody) clearTimeout(request.bodyTimer)
  })
  app.addHook('onResponse', async ({ raw, routeOptions }) => {
    if (raw.complete || !routeOptions.config.streamsBody) return
    // Refused before its end. The rest is read and thrown away, for a while: who is cut off may never read the answer.
    const timer = setTimeout(() => raw.destroy(), timeoutMs)
    raw.once('close', () => clearTimeout(timer))
    raw.resume()
  })
}

const requestTimeout = () => Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
