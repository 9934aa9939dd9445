import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

declare module 'fastify' {
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
      // Once it is answered, a request does not hear any more that its connection has closed.
      socket.once('close', stopTimer)
    }

    app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
      const { headers } = request
      if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return
      startTimer(request, () => {
        // What Node does when its own timer ends; Fastify answers it.
        if (response.headersSent) request.destroy()
        else app.server.emit('clientError', requestTimeout(), request.socket)
      })
    })
    const isStreaming = ({ raw, routeOptions }: FastifyRequest) => timers.has(raw) && routeOptions.config.streamsBody

    app.addHook('preHandler', (request, _reply, done) => {
      if (isStreaming(request)) clearTimeout(timers.get(request.raw))
      done()
    })

    // A body refused before its end is read for a while and discarded: a client that is cut off may never read the response.
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

const requestTimeout = () => Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
