import type { ApiConfig } from '@rapport/core/runtime/config.ts'
import { type FastifyBaseLogger, type FastifyHttpOptions, LogController, type RawServerDefault } from 'fastify'
import { handleError } from '../error-handler.ts'
import { decodableUrl } from './decodable-url.ts'
import { requestIdOf } from './request-id.ts'
import { trustedProxies } from './trusted-proxies.ts'

/** How long a client may take to send the head of a request, and again its body. */
export const requestTimeoutMs = 15_000
const mebibyte = 1_048_576

/** What Fastify takes at its creation only: everything else is a plugin. */
export function serverOptions(config: ApiConfig, log: FastifyBaseLogger): FastifyHttpOptions<RawServerDefault> {
  return {
    loggerInstance: log,
    // Failed requests are logged by the error handler; successful ones are counted by the metrics.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: mebibyte,
    // The plugin `slow-requests` limits the time for a body.
    requestTimeout: 0,
    http: { headersTimeout: requestTimeoutMs, connectionsCheckingInterval: 5_000 },
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    // While closing, a request on an open connection is still answered, and the connection closed after it.
    return503OnClosing: false,
    trustProxy: trustedProxies(config.TRUST_PROXY),
    requestIdHeader: false,
    genReqId: requestIdOf,
    // An id that is too long is refused by its schema, as any invalid id; the limit is the size of a request's head.
    routerOptions: { maxParamLength: 65_536 },
    rewriteUrl: decodableUrl,
    frameworkErrors: (error, request, reply) => void handleError(error, request, reply),
  }
}
