import type { ApiConfig } from '@rapport/core/runtime/config.ts'
import { type FastifyBaseLogger, type FastifyHttpOptions, LogController, type RawServerDefault } from 'fastify'
import type { ApiTimings } from './api-timings.ts'
import { errorDocsOf, handleError } from '../error-handler.ts'
import { clientErrorHandler } from './client-errors.ts'
import { decodableUrl } from './decodable-url.ts'
import { requestIdOf } from './request-id.ts'
import { trustedProxies } from './trusted-proxies.ts'

const mebibyte = 1_048_576

/** The options that Fastify accepts only at creation. Everything else is a plugin. */
export function serverOptions(
  config: ApiConfig,
  log: FastifyBaseLogger,
  { requestTimeoutMs }: Pick<ApiTimings, 'requestTimeoutMs'>,
): FastifyHttpOptions<RawServerDefault> {
  return {
    loggerInstance: log,
    // Failed requests are logged by the error handler; successful ones are counted by the metrics.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: mebibyte,
    // The plugin `slow-requests` limits the time for the body.
    requestTimeout: 0,
    http: {
      headersTimeout: requestTimeoutMs,
      connectionsCheckingInterval: 5_000,
      // Node's own response to a request without `host` has no body: see the plugin `request-context`.
      requireHostHeader: false,
      // Of two credentials, Node would use the first, and a proxy may have checked the second. Joined, they are
      // invalid.
      joinDuplicateHeaders: true,
    },
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    // While closing, a request on an open connection still gets its response; then the connection is closed.
    return503OnClosing: false,
    trustProxy: trustedProxies(config.TRUST_PROXY),
    requestIdHeader: false,
    genReqId: requestIdOf,
    // Schemas reject ids that are too long. This limit is larger than the maximum size of request headers.
    routerOptions: { maxParamLength: 65_536 },
    rewriteUrl: decodableUrl,
    clientErrorHandler: clientErrorHandler(errorDocsOf(config.PUBLIC_URL)),
    frameworkErrors: (error, request, reply) => void handleError(error, request, reply),
  }
}
