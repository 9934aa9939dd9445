import type { ApiConfig } from '@rapport/core/runtime/config.ts'
import type { Database } from '@rapport/core/db/client.ts'
import { readBearerToken } from '@rapport/core/request/bearer-token.ts'
import { unauthenticated } from '@rapport/core/kernel/errors.ts'
import { registerRedisMetrics, createDurationHistogram, createRegistry } from '@rapport/core/runtime/metrics.ts'
import { registerMailRateMetrics } from '@rapport/core/operations/overviews/mail-rates.ts'
import { registerActivityMetrics, registerRecordMetrics } from '@rapport/core/operations/overviews/business-metrics.ts'
import { registerEmailMetrics } from '@rapport/core/operations/overviews/waiting-emails.ts'
import { registerWithheldMetrics } from '@rapport/core/operations/overviews/withheld-mails.ts'
import { registerWorkMetrics } from '@rapport/core/operations/overviews/work-metrics.ts'
import type { RedisClient } from '@rapport/core/runtime/redis.ts'
import { isSameSecret } from '@rapport/core/kernel/crypto.ts'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { probeRedis } from './rate-limit/redis-connection.ts'
import type { ApiPublisher } from '../queues/publisher.ts'
import { registerProcessMetrics } from '@rapport/core/db/process-metrics.ts'

interface Options {
  config: ApiConfig
  database: Database
  redis: RedisClient | undefined
  publisher: ApiPublisher | undefined
}

/**
 * Measures every request by route and serves the metrics to Prometheus at `/metrics`, which requires `METRICS_TOKEN`.
 * Without a configured token, nothing is measured and the route does not exist. Must be registered before the routes.
 */
export const metrics = fp(
  async (app: FastifyInstance, { config, database, redis, publisher }: Options) => {
    const token = config.METRICS_TOKEN
    if (token === undefined) return
    const registry = createRegistry()
    registerProcessMetrics(registry, database)
    registerWorkMetrics(registry, database.db)
    registerActivityMetrics(registry, database.db)
    registerRecordMetrics(registry, database.db)
    registerMailRateMetrics(registry, database.db)
    registerWithheldMetrics(registry, database.db)
    registerEmailMetrics(registry, database.db)
    if (publisher) registry.registerMetric(publisher.published)
    if (redis) registerRedisMetrics(registry, () => probeRedis(redis))
    const seconds = createDurationHistogram(registry, {
      name: 'http_request_duration_seconds',
      help: 'Request duration in seconds, from the request headers to the end of the response',
      labelNames: ['route', 'method', 'status'],
    })

    app.addHook('onResponse', (request, reply, done) => {
      // Requests without a route share one series, so that clients cannot create new series.
      const { url } = request.routeOptions
      const labels =
        url === undefined || request.is404 ? { route: 'none', method: 'any' } : { route: url, method: request.method }
      seconds.observe(
        { ...labels, status: statusClasses[Math.floor(reply.statusCode / 100)] ?? 'none' },
        reply.elapsedTime / 1_000,
      )
      done()
    })

    app.withTypeProvider<ZodTypeProvider>().get(
      '/metrics',
      {
        config: { rateLimit: false },
        schema: {
          tags: ['Operators'],
          operationId: 'metrics.get',
          summary: 'Retrieve metrics',
          description: 'Returns metrics in the Prometheus text format. Requires `METRICS_TOKEN` as the bearer token.',
          security: [{ metricsToken: [] }],
          produces: ['text/plain'],
          response: { 200: z.string() },
        },
      },
      async (request, reply) => {
        if (!isSameSecret(readBearerToken(request.headers.authorization), token)) {
          throw unauthenticated('Authorization: Bearer <METRICS_TOKEN>')
        }
        reply.type(registry.contentType)
        return registry.metrics()
      },
    )
  },
  { name: 'metrics', dependencies: ['schema-compilers', 'open-api', 'rate-limits'] },
)

const statusClasses = ['none', '1xx', '2xx', '3xx', '4xx', '5xx']
