import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { requestIdOf } from '../server/request-id.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The handler reads a body of any length, and checks itself that data keeps arriving. */
    streamsBody?: boolean
  }
}

/**
 * Responds with 408 if a client takes longer than `timeoutMs` to send the body. Node's own `requestTimeout` would apply
 * to uploads too. Here, a route with `streamsBody` has no time limit once its hooks have accepted the request; if they
 * reject it, the limit remains. Node's `headersTimeout` limits the time for the headers.
 */
export const slowRequests = fp(
  async (app: FastifyInstance, { timeoutMs }: { timeoutMs: number }) => {
    const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>()

    function startTimer(request: IncomingMessage, onTimeout: () => void) {
      clearTimeout(timers.get(request))
      const { socket } = request
      const timer = setTimeout(() => request.complete || onTimeout(), timeoutMs)
      timers.set(request, timer)
      function stopTimer() {
        clearTimeout(timer)
        socket.off('close', stopTimer)
      }
      request.once('close', stopTimer)
      // After its response, a request emits no event when the connection closes.
      socket.once('close', stopTimer)
    }

    app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      const { headers } = request
      if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return
      startTimer(request, () => {
        // Node does the same when its own timeout expires; Fastify sends the response.
        if (response.headersSent) request.destroy()
        else app.server.emit('clientError', createTimeoutError(request), request.socket)
      })
    })
    const isStreaming = ({ raw, routeOptions }: FastifyRequest) => timers.has(raw) && routeOptions.config.streamsBody

    app.addHook('preHandler', (request, _reply, done) => {
      if (isStreaming(request)) clearTimeout(timers.get(request.raw))
      done()
    })

    // Reads and discards the rest of a rejected body for a while: a client that is cut off may never read the response.
    app.addHook('onResponse', (request, _reply, done) => {
      done()
      const { raw } = request
      if (raw.complete || raw.destroyed || !isStreaming(request)) return
      startTimer(raw, () => void raw.destroy())
      raw.resume()
    })
  },
  { name: 'slow-requests' },
)

/** The error of Node's own timeout, with the id of the request for `client-errors.ts`. */
function createTimeoutError(request: IncomingMessage) {
  const requestId = requestIdOf(request)
  return Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT', requestId })
}
