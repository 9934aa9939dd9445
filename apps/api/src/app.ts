import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import cors, { type FastifyCorsOptions } from '@fastify/cors'
import proxyAddr from '@fastify/proxy-addr'
import sensible from '@fastify/sensible'
import { createAuthenticator } from '@rapport/core/auth/authenticate.ts'
import { closeRendering } from '@rapport/core/campaigns/rendering.ts'
import type { ApiConfig } from '@rapport/core/config.ts'
import { settingsFrom } from '@rapport/core/context.ts'
import type { Database } from '@rapport/core/db.ts'
import type { Tracer } from '@rapport/core/observability/tracer.ts'
import type { RedisClient } from '@rapport/core/redis.ts'
import type { Replica } from '@rapport/core/replica.ts'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyRequest,
  LogController,
  type onRequestHookHandler,
} from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { LRUCache } from 'lru-cache'
import { requireCredential } from './http/authentication.ts'
import { showQueues } from './http/dashboard.ts'
import { handleError } from './http/error-handler.ts'
import { rateLimits } from './http/rate-limit/rate-limit.ts'
import { unknownRoutes } from './http/unknown-routes.ts'
import { acceptIdempotencyKeys } from './http/idempotency.ts'
import { acceptJsonBodies } from './http/body/json-body.ts'
import { describeRoutes } from './openapi/openapi.ts'
import { accountPages } from './pages/account-pages.ts'
import { embedScript } from './pages/embed-script.ts'
import { formPages } from './pages/form-pages.ts'
import { subscriptionPages } from './pages/subscription-pages.ts'
import { trackingPages } from './pages/tracking.ts'
import { createPublicFormCache } from './http/public-form-cache.ts'
import { measureRequests } from './http/metrics.ts'
import { logOfRequest } from './http/server/request-log.ts'
import { hooksOf } from './route-hooks.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { auditRoutes } from './routes/audit.ts'
import { credentialRoutes, meRoutes } from './routes/auth.ts'
import { campaignRoutes, campaignSendingRoutes } from './routes/campaigns.ts'
import { contactRoutes } from './routes/contacts.ts'
import { customFieldRoutes } from './routes/custom-fields.ts'
import { dealRoutes } from './routes/deals.ts'
import { deliveryRoutes } from './routes/deliveries.ts'
import { eventRoutes } from './routes/events.ts'
import { formRoutes } from './routes/forms.ts'
import { healthRoutes } from './routes/health.ts'
import { importRoutes } from './routes/imports.ts'
import { listRoutes, publicListRoutes } from './routes/lists.ts'
import { mailEventRoutes } from './routes/mail-events.ts'
import { pipelineRoutes } from './routes/pipelines.ts'
import { publicFormRoutes } from './routes/public-forms.ts'
import { teamRoutes } from './routes/team.ts'
import { NoQuery } from './routes/shapes.ts'
import { taskRoutes } from './routes/tasks.ts'
import { webhookRoutes } from './routes/webhooks.ts'
import { limitSlowRequests } from './http/body/slow-requests.ts'
import { traceRequests } from './http/tracing.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Of @fastify/cors, over what holds for all. */
    cors?: FastifyCorsOptions | false
  }
}

export interface Dependencies {
  config: ApiConfig
  database: Database
  replica?: Replica | undefined
  redis: RedisClient | undefined
  log: FastifyBaseLogger
  tracer?: Tracer | undefined
  /** Aborted when the process is to end: from then on it is not ready, and keeps no connection open. */
  stopping?: AbortSignal
}

const mebibyte = 1_048_576
const requestTimeoutMs = 15_000

/** The whole API, without a socket: `listen` opens one. Order matters: what is added first guards what comes after. */
export async function buildApp({
  config,
  database,
  replica,
  redis,
  log,
  tracer,
  stopping,
}: Dependencies): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: log,
    childLoggerFactory: logOfRequest,
    // A line for what failed is enough; a healthy request is the metrics' to count.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    bodyLimit: mebibyte,
    // The time for a body is `limitSlowRequests`'s.
    requestTimeout: 0,
    http: { headersTimeout: requestTimeoutMs, connectionsCheckingInterval: 5_000 },
    keepAliveTimeout: 72_000,
    forceCloseConnections: 'idle',
    // While closing, a request that came in on an open connection is still answered, and the connection closed after.
    return503OnClosing: false,
    trustProxy: trustedProxies(config.TRUST_PROXY),
    requestIdHeader: false,
    genReqId: requestIdOf,
    // An id that is too long is judged where every wrong id is; what limits it is the size of a request's head.
    routerOptions: { maxParamLength: 65_536 },
    rewriteUrl: decodableUrl,
    frameworkErrors: (error, request, reply) => void handleError(error, request as FastifyRequest, reply as never),
  })
  app.setValidatorCompiler(compileValidator)
  app.setSerializerCompiler(serializerCompiler)
  await app.register(sensible)
  app.setErrorHandler(handleError)
  acceptJsonBodies(app)
  limitSlowRequests(app, requestTimeoutMs)

  const settings = settingsFrom(config)
  app.decorateRequest('baseCtx')
  app.decorateRequest('ctx')
  // With a callback, as all that every request goes through: a promise each would cost more than what they do.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff')
    if (stopping?.aborted) reply.raw.shouldKeepAlive = false
    const { id: requestId, ip: address } = request
    request.baseCtx = { db: database.db, ...(replica && { replica }), requestId, address, settings }
    done()
  })
  traceRequests(app, tracer)
  if (config.LOG_LEVEL === 'debug' || config.LOG_LEVEL === 'trace') {
    app.addHook('onResponse', async (request, reply) => {
      // Without the query: the token of a link stands in it.
      const [path] = request.url.split('?', 1)
      const { method, ip } = request
      request.log.debug({ method, path, ip, status: reply.statusCode, ms: Math.round(reply.elapsedTime) }, 'answered')
    })
  }

  await app.register(rateLimits, { redis })
  await allowOrigins(app, config.CORS_ORIGINS)
  await describeRoutes(app, config.PUBLIC_URL)

  measureRequests(app, { config, database, redis })
  await app.register(unknownRoutes)
  await app.register(healthRoutes({ database, redis, stopping }))
  await app.register(credentialRoutes)
  const publicForms = createPublicFormCache()
  await app.register(publicFormRoutes(publicForms))
  await app.register(publicListRoutes)
  await app.register(subscriptionPages)
  await app.register(formPages)
  await app.register(accountPages)
  await app.register(embedScript)
  await app.register(trackingPages)
  await app.register(async (scope) => {
    requireCredential(scope, createAuthenticator(database.db))
    // What concerns the credential itself is no other credential's to replay.
    await scope.register(meRoutes)
    acceptIdempotencyKeys(scope)
    for (const routes of [
      apiKeyRoutes,
      teamRoutes,
      auditRoutes,
      contactRoutes,
      customFieldRoutes,
      importRoutes,
      formRoutes(publicForms),
      listRoutes,
      campaignRoutes,
      campaignSendingRoutes,
      mailEventRoutes,
      pipelineRoutes,
      dealRoutes,
      taskRoutes,
      webhookRoutes,
      deliveryRoutes,
      eventRoutes,
    ]) {
      await scope.register(routes)
    }
  })
  await showQueues(app, config)
  app.addHook('onClose', closeRendering)
  return app
}

/** Most routes take no query, and most requests bring none: Zod need not be asked. */
const compileValidator: typeof validatorCompiler = (route) => {
  const validate = validatorCompiler(route)
  if (route.schema !== NoQuery) return validate
  return (query: object) => (Object.keys(query).length === 0 ? { value: query } : validate(query))
}

/** The caller's own request id when it is a sane one, so that logs on both sides can be laid side by side. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[\w.:=+/-]{1,128}$/.test(given) ? given : randomUUID()
}

/** Remembers of the latest peers whether they are trusted: to parse an address takes as long as the rest of a hook. */
function trustedProxies(networks: string[]): false | ((address: string, hop: number) => boolean) {
  if (networks.length === 0) return false
  const isTrusted = proxyAddr.compile(networks)
  const peers = new LRUCache<string, boolean>({ max: 1_000 })
  return (address, hop) => {
    // What stands in a header may be anything.
    if (hop > 0) return isTrusted(address, hop)
    const known = peers.get(address)
    if (known !== undefined) return known
    const trusted = isTrusted(address, hop)
    peers.set(address, trusted)
    return trusted
  }
}

/** A path that cannot be decoded is none of ours: sent where nothing is, it is counted and answered like any other. */
function decodableUrl({ url = '/' }: { url?: string | undefined }): string {
  if (!url.includes('%')) return url
  try {
    decodeURI(url.split('?', 1)[0] ?? '')
    return url
  } catch {
    return '/%25'
  }
}

/** Public routes are called from other people's sites; the rest only from origins that the operator lists. */
async function allowOrigins(app: FastifyInstance, origins: string[]) {
  const exposedHeaders = 'etag, retry-after'
  const sayOpen: onRequestHookHandler = (_request, reply, done) => {
    reply.header('access-control-allow-origin', '*').header('access-control-expose-headers', exposedHeaders)
    done()
  }
  app.addHook('onRoute', (route) => {
    if (!route.url.startsWith('/public/') || route.method === 'OPTIONS') return
    // Always the same: the plugin would find that out for each request anew.
    route.config = { ...route.config, cors: false }
    route.onRequest = [sayOpen, ...hooksOf(route.onRequest)]
  })
  await app.register(cors, {
    origin: origins.length > 0 ? origins : false,
    methods: 'GET, HEAD, POST, PUT, PATCH, DELETE',
    maxAge: 86_400,
    strictPreflight: false,
  })
  // Where a browser asks first; the plugin answers.
  const preflight = { origin: '*', methods: 'GET, HEAD, POST', exposedHeaders }
  app.options('/public/*', { config: { cors: preflight }, schema: { hide: true } }, (_request, reply) => reply.send())
}
