import sensible from '@fastify/sensible'
import { createAuthenticator } from '@rapport/core/auth/authenticate.ts'
import { stopRenderingThread } from '@rapport/core/rendering/rendering.ts'
import type { ApiConfig } from '@rapport/core/runtime/config.ts'
import { type Settings, settingsFrom } from '@rapport/core/request/context.ts'
import type { Database } from '@rapport/core/db/client.ts'
import type { Tracer } from '@rapport/core/runtime/tracer.ts'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify'
import { documentation } from './docs/documentation.ts'
import { type ApiTimings, defaultTimings } from './http/server/api-timings.ts'
import { allowedMethods } from './http/server/allowed-methods.ts'
import { authentication } from './http/authentication.ts'
import { jsonBody } from './http/body/json-body.ts'
import { slowRequests } from './http/body/slow-requests.ts'
import { concurrentRequests } from './http/concurrent-requests.ts'
import { conditionalRequests } from './http/conditional-requests/conditional-requests.ts'
import { crossOrigin } from './http/cors.ts'
import { dashboard } from './http/dashboard.ts'
import { debugLog } from './http/debug-log.ts'
import { errorHandler } from './http/error-handler.ts'
import { metrics } from './http/metrics.ts'
import { ownHost } from './http/hosts/own-host.ts'
import { createPublicFormCache, type PublicFormCache } from './http/public-form-cache.ts'
import { queryEncoding } from './http/server/query-encoding.ts'
import { rateLimits } from './http/rate-limit/rate-limit.ts'
import { createUrlReader } from './http/read-public-url.ts'
import { readiness } from './http/readiness.ts'
import { requestContext } from './http/request-context.ts'
import { schemaCompilers } from './http/schema-compilers.ts'
import { serverOptions } from './http/server/server-options.ts'
import { tracing } from './http/tracing.ts'
import { unknownRoutes } from './http/unknown-routes.ts'
import { workspaceHosts } from './http/hosts/workspace-hosts.ts'
import { mcpRoutes } from './mcp/mcp.ts'
import { openApi } from './openapi/openapi.ts'
import type { ApiPublisher } from './queues/publisher.ts'
import { accountPages } from './pages/account-pages.ts'
import { embedScript } from './pages/embed-script.ts'
import { formPages } from './pages/form-pages.ts'
import { homePage } from './pages/home-page.ts'
import { showErrorPage } from './pages/message-page.ts'
import { preferencesPages } from './pages/preferences-pages.ts'
import { subscriptionPages } from './pages/subscription-pages.ts'
import { trackingConsentPages } from './pages/tracking-consent-pages.ts'
import { trackingPages } from './pages/tracking.ts'
import { webVersionPages } from './pages/web-version.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { auditRoutes } from './routes/audit.ts'
import { credentialRoutes, meRoutes } from './routes/auth.ts'
import { campaignRoutes } from './routes/campaigns.ts'
import { campaignSendingRoutes } from './routes/campaign-sending.ts'
import { consentRoutes } from './routes/consent.ts'
import { companyRoutes } from './routes/companies.ts'
import { contactBatchRoutes } from './routes/contact-batch.ts'
import { contactRoutes } from './routes/contacts.ts'
import { customFieldRoutes } from './routes/custom-fields.ts'
import { dealRoutes } from './routes/deals.ts'
import { deliveryRoutes } from './routes/deliveries.ts'
import { domainRoutes } from './routes/domains.ts'
import { emailRoutes } from './routes/emails.ts'
import { erasureRoutes } from './routes/erasures.ts'
import { eventRoutes } from './routes/events.ts'
import { formRoutes } from './routes/forms.ts'
import { healthRoutes } from './routes/health.ts'
import { importRoutes } from './routes/imports.ts'
import { listRoutes, publicListRoutes } from './routes/lists.ts'
import { suppressionRoutes } from './routes/suppressions.ts'
import { segmentRoutes } from './routes/segments.ts'
import { mailEventRoutes } from './routes/mail-events.ts'
import { mailHookRoutes } from './routes/mail-hooks.ts'
import { type ProviderMessageOptions, providerMessageRoutes } from './routes/provider-messages.ts'
import { pipelineRoutes } from './routes/pipelines.ts'
import { publicFormRoutes } from './routes/public-forms.ts'
import { tlsRoutes } from './http/hosts/tls-allowed.ts'
import { noteRoutes } from './routes/notes.ts'
import { taskRoutes } from './routes/tasks.ts'
import { teamRoutes } from './routes/team.ts'
import { templateRoutes } from './routes/templates.ts'
import { webhookRoutes } from './routes/webhooks.ts'

export interface Dependencies {
  config: ApiConfig
  database: Database
  redis: RedisClient | undefined
  /** Without it, no jobs are counted. */
  publisher?: ApiPublisher | undefined
  log: FastifyBaseLogger
  tracer?: Tracer | undefined
  /** Aborted at shutdown: from then on `/ready` fails and every response closes its connection. */
  stopping?: AbortSignal
  /** The clock of the process, in milliseconds since 1970. Default: `Date.now`. */
  now?: (() => number) | undefined
  /** Replaces some of `defaultTimings`. */
  timings?: Partial<ApiTimings>
  /** Reads the certificates of Amazon SNS. Default: `createUrlReader`. */
  readUrl?: ProviderMessageOptions['readUrl']
  /** Replaces some of the settings of the configuration. */
  settings?: Partial<Settings>
}

/** Builds the API without opening a socket. Fails if a plugin is registered before its dependencies. */
export async function buildApp(dependencies: Dependencies): Promise<FastifyInstance> {
  const { config, database, redis, tracer, stopping, now } = dependencies
  const settings = { ...settingsFrom(config), ...dependencies.settings }
  const timings = { ...defaultTimings, ...dependencies.timings }
  const app = Fastify(serverOptions(config, dependencies.log, timings))
  await app.register(sensible)
  await app.register(errorHandler, { publicUrl: config.PUBLIC_URL, showPage: showErrorPage })
  await app.register(schemaCompilers)
  await app.register(allowedMethods)
  await app.register(jsonBody)
  await app.register(slowRequests, { timeoutMs: timings.requestTimeoutMs })
  await app.register(requestContext, { database, settings, stopping })
  await app.register(ownHost, { config })
  await app.register(workspaceHosts, {
    database,
    settings,
    ttlMs: timings.hostsTtlMs,
    timeoutMs: timings.hostsTimeoutMs,
  })
  await app.register(tracing, { tracer })
  await app.register(debugLog)
  await app.register(rateLimits, { redis, exempt: config.RATE_LIMIT_EXEMPT, probeMs: timings.redisProbeMs })
  await app.register(crossOrigin, { origins: config.CORS_ORIGINS })
  await app.register(conditionalRequests)
  await app.register(documentation, { publicUrl: config.PUBLIC_URL })
  await app.register(openApi, { publicUrl: config.PUBLIC_URL })
  await app.register(metrics, { config, database, redis, publisher: dependencies.publisher })
  await app.register(unknownRoutes)

  const readUrl = dependencies.readUrl ?? createUrlReader({ timeoutMs: timings.outboundTimeoutMs })
  const publicForms = createPublicFormCache(timings.publicFormTtlMs)
  await app.register(readiness, { database, redis, stopping, now, timeoutMs: timings.readinessTimeoutMs })
  await app.register(healthRoutes)
  await app.register(tlsRoutes)
  await app.register(homePage)
  await app.register(credentialRoutes, timings)
  await app.register(publicFormRoutes(publicForms), timings)
  await app.register(publicListRoutes, timings)
  await app.register(providerMessageRoutes, { ...timings, now: now ?? Date.now, readUrl })
  await app.register(subscriptionPages)
  await app.register(preferencesPages)
  await app.register(formPages, timings)
  await app.register(accountPages, timings)
  await app.register(embedScript)
  await app.register(trackingConsentPages)
  await app.register(trackingPages)
  await app.register(webVersionPages)
  await app.register(workspaceRoutes, { config, database, publicForms, timings })
  await app.register(dashboard, { config, closeTimeoutMs: timings.queueCloseTimeoutMs })
  app.addHook('onClose', stopRenderingThread)
  return app
}

/** The routes that require a credential. */
async function workspaceRoutes(
  scope: FastifyInstance,
  options: Pick<Dependencies, 'config' | 'database'> & { publicForms: PublicFormCache; timings: ApiTimings },
) {
  const { config, database, publicForms, timings } = options
  await scope.register(authentication, { authenticate: createAuthenticator(database.db) })
  await scope.register(queryEncoding)
  await scope.register(concurrentRequests, timings)
  await scope.register(meRoutes)
  await scope.register(apiKeyRoutes)
  await scope.register(teamRoutes)
  await scope.register(auditRoutes)
  await scope.register(contactRoutes, timings)
  await scope.register(contactBatchRoutes)
  await scope.register(erasureRoutes)
  await scope.register(companyRoutes)
  await scope.register(customFieldRoutes)
  await scope.register(importRoutes, timings)
  await scope.register(formRoutes(publicForms))
  await scope.register(listRoutes)
  await scope.register(suppressionRoutes)
  await scope.register(consentRoutes)
  await scope.register(segmentRoutes)
  await scope.register(campaignRoutes)
  await scope.register(templateRoutes)
  await scope.register(emailRoutes)
  await scope.register(campaignSendingRoutes)
  await scope.register(mailEventRoutes)
  await scope.register(domainRoutes)
  await scope.register(mailHookRoutes)
  await scope.register(pipelineRoutes)
  await scope.register(dealRoutes)
  await scope.register(taskRoutes)
  await scope.register(noteRoutes)
  await scope.register(webhookRoutes)
  await scope.register(deliveryRoutes)
  await scope.register(eventRoutes)
  await scope.register(mcpRoutes(config))
}
