import { createServer, type IncomingMessage, STATUS_CODES } from 'node:http'
import { readBearerToken } from '@rapport/core/request/bearer-token.ts'
import type { WorkerConfig } from '@rapport/core/runtime/config.ts'
import type { Database } from '@rapport/core/db/client.ts'
import type { ClockWatch } from '@rapport/core/db/clock-offset.ts'
import { registerActivityMetrics } from '@rapport/core/operations/overviews/business-metrics.ts'
import { registerRedisMetrics } from '@rapport/core/runtime/metrics.ts'
import { readReadiness } from '@rapport/core/db/readiness.ts'
import { version } from '@rapport/core/runtime/version.ts'
import { isSameSecret } from '@rapport/core/kernel/crypto.ts'
import type { WorkerMetrics } from './metrics.ts'
import { registerProcessMetrics } from '@rapport/core/db/process-metrics.ts'

interface OperatorPortDeps {
  database: Database
  backend: { readonly ping: (() => Promise<unknown>) | undefined }
  metrics: WorkerMetrics
  stopping: AbortSignal
  clock: ClockWatch
}

interface HttpResponse {
  status: number
  type: string
  body: string
}

/** Serves /health, /ready and /metrics, as the API does. Returns undefined if WORKER_PORT is not set. */
export async function openOperatorPort(config: WorkerConfig, deps: OperatorPortDeps) {
  const { WORKER_HOST: host, WORKER_PORT: port } = config
  if (port === undefined) return undefined
  registerProcessMetrics(deps.metrics.registry, deps.database)
  registerActivityMetrics(deps.metrics.registry, deps.database.db)
  if (deps.backend.ping) registerRedisMetrics(deps.metrics.registry, deps.backend.ping)
  const server = createServer({ requestTimeout: 5_000, joinDuplicateHeaders: true }, (request, response) => {
    void handleRequest(request, deps, config.METRICS_TOKEN)
      .catch(() => jsonResponse(500))
      .then(({ status, type, body }) => response.writeHead(status, { 'content-type': type }).end(body))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen({ host, port }, () => resolve(void server.off('error', reject)))
  })
  return {
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function handleRequest(
  request: IncomingMessage,
  deps: OperatorPortDeps,
  token: string | undefined,
): Promise<HttpResponse> {
  const { database, backend, metrics, stopping, clock } = deps
  const [path] = (request.url ?? '').split('?', 1)
  if (request.method !== 'GET' && request.method !== 'HEAD') return jsonResponse(404)
  if (path === '/health') return jsonResponse(200, { status: 'ok', version })
  if (path === '/ready') {
    const readiness = await readReadiness({
      db: database.db,
      pingRedis: backend.ping,
      readClock: () => clock.read(),
      isStopping: stopping.aborted,
    })
    return jsonResponse(readiness.status === 'unavailable' ? 503 : 200, readiness)
  }
  if (path !== '/metrics') return jsonResponse(404)
  if (token !== undefined && !isSameSecret(readBearerToken(request.headers.authorization), token))
    return jsonResponse(401)
  return { status: 200, type: metrics.registry.contentType, body: await metrics.registry.metrics() }
}

function jsonResponse(status: number, body?: object): HttpResponse {
  const error = { statusCode: status, message: STATUS_CODES[status], error: STATUS_CODES[status] }
  return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(body ?? error) }
}
