import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { hooksOf } from '../../route-hooks.ts'

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
export function limitSlowRequests(app: FastifyInstance, timeoutMs: number): void {
  const timers = new WeakMap<IncomingMessage, NodeJS.Timeout>()

  function giveTime(request: IncomingMessage, onTimeout: () => void) {
    clearTimeout(timers.get(request))
    const { socket } = request
    const timer = setTimeout(() => request.complete || onTimeout(), timeoutMs)
    timers.set(request, timer)
    function forget() {
      clearTimeout(timer)
      socket.off('close', forget)
    }
    request.once('close', forget)
    // Once it is answered, a request does not hear any more that its connection has closed.
    socket.once('close', forget)
  }

  app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { headers } = request
    if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return
    giveTime(request, () => {
      // What Node does when its own timer ends; Fastify answers it.
      if (response.headersSent) request.destroy()
      else app.server.emit('clientError', requestTimeout(), request.socket)
    })
  })
  app.addHook('onRoute', (route) => {
    if (!route.config?.streamsBody) return
    route.preHandler = [stopClock, ...hooksOf(route.preHandler)]
    route.onResponse = [...hooksOf(route.onResponse), readOn]
  })

  function stopClock({ raw }: FastifyRequest, _reply: FastifyReply, done: () => void) {
    clearTimeout(timers.get(raw))
    done()
  }

  /** Refused before its end. The rest is read and thrown away, for a while: who is cut off may never read the answer. */
  function readOn({ raw }: FastifyRequest, _reply: FastifyReply, done: () => void) {
    done()
    if (!timers.has(raw) || raw.complete || raw.destroyed) return
    giveTime(raw, () => void raw.destroy())
    raw.resume()
  }
}

const requestTimeout = () => Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
