import type { Span, Tracer } from '@rapport/core/runtime/tracer.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'

const untracedRoutes = new Set(['/health', '/ready', '/metrics'])

/**
 * Starts a span for each request that matches a route. The span is named after the route, never after the URL, and is
 * the parent of all work that the request causes. Health checks and metrics are not traced.
 */
export const tracing = fp(
  async (app: FastifyInstance, { tracer }: { tracer: Tracer | undefined }) => {
    if (!tracer) return
    const spans = new WeakMap<FastifyRequest, Span>()
    app.addHook('onRequest', (request, _reply, done) => {
      const { url } = request.routeOptions
      if (url === undefined || request.is404 || untracedRoutes.has(url)) return done()
      const parent = request.headers['traceparent']
      const span = tracer.start(`${request.method} ${url}`, {
        kind: 'server',
        parent: typeof parent === 'string' ? parent : undefined,
        attributes: { 'http.request.method': request.method, 'http.route': url, 'rapport.request_id': request.id },
      })
      spans.set(request, span)
      request.baseCtx = { ...request.baseCtx, traceparent: span.traceparent }
      done()
    })
    app.addHook('onResponse', (request, { statusCode }, done) => {
      const attributes = { 'http.response.status_code': statusCode }
      spans.get(request)?.end({ hasFailed: statusCode >= 500, attributes })
      done()
    })
  },
  { name: 'tracing', dependencies: ['request-context'] },
)
