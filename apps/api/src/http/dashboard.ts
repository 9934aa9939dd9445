import { promisify } from 'node:util'
import basicAuth from '@fastify/basic-auth'
import type { ApiConfig } from '@rapport/core/runtime/config.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import { errorLogger } from '@rapport/core/runtime/logging.ts'
import { directUrlOf } from '@rapport/core/db/pooler.ts'
import { queueNames, queueSchema } from '@rapport/core/work/queues.ts'
import { connectRedis } from '@rapport/core/runtime/redis.ts'
import { isSameSecret } from '@rapport/core/kernel/crypto.ts'
import { withTimeout } from '@rapport/core/kernel/concurrency/with-timeout.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { openQueue } from '../queues/open-queue.ts'
import { clientKeyOf } from './rate-limit/rate-limit.ts'

/** The board sets styles inline. Its page also loads fonts from a third party, which this policy blocks. */
const contentSecurityPolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"

/** The queue dashboard at `/queues`, with its own user and password. Works with both queue backends. */
export const dashboard = fp(
  async (app: FastifyInstance, { config, closeTimeoutMs }: { config: ApiConfig; closeTimeoutMs: number }) => {
    const password = config.DASHBOARD_PASSWORD
    if (!password) return
    const queues = openQueues(config, errorLogger(app.log, 'dashboard cannot reach the queues'))
    app.addHook('onClose', () => queues.close(closeTimeoutMs))
    // Loaded only if it is configured.
    const { createBoard } = await import('../queues/queue-board.ts')
    const board = createBoard(queues.all)
    await app.register(async (scope) => {
      const checkLockout = createLockoutCheck(scope)
      await scope.register(basicAuth, {
        authenticate: { realm: 'Rapport queues' },
        validate: async (user, enteredPassword, request) => {
          const isCorrect = isSameSecret(user, config.DASHBOARD_USER) && isSameSecret(enteredPassword, password)
          await checkLockout(request, { isCorrect })
          if (!isCorrect) throw new AppError('unauthorized', 'Invalid user name or password')
        },
      })
      // `preParsing`, as in `authentication`: after the rate limits, before the body is read.
      const authenticate = promisify(scope.basicAuth)
      scope.addHook('preParsing', async (request, reply) => authenticate(request, reply))
      scope.addHook('preHandler', async (request) => {
        if (isCrossSite(request, config)) throw new AppError('forbidden', 'Cross-site requests are not allowed')
      })
      scope.addHook('onSend', async (_request, reply) => {
        reply.header('content-security-policy', contentSecurityPolicy)
      })
      await scope.register(board, { prefix: '/queues' })
    })
  },
  { name: 'dashboard', dependencies: ['error-handler', 'rate-limits'] },
)

/**
 * Ten wrong passwords lock the client's address out, from all paths, until 15 minutes after the first. The check of an
 * attempt and its count are one step, so that concurrent guesses are not more than ten either.
 */
function createLockoutCheck(scope: FastifyInstance) {
  const countFailure = scope.createRateLimit({
    max: 10,
    timeWindow: 15 * 60_000,
    keyGenerator: (request) => `dashboard password ${clientKeyOf(request)}`,
    allowList: [],
  })
  return async (request: FastifyRequest, { isCorrect }: { isCorrect: boolean }) => {
    const limit = await countFailure(request, { increment: !isCorrect })
    if (limit.isAllowed || limit.remaining > 0) return
    throw new AppError('rate_limited', 'Too many wrong passwords', { retryAfterSeconds: limit.ttlInSeconds })
  }
}

/** Whether another site made the browser send this change (CSRF). Clients other than browsers send neither header. */
function isCrossSite({ method, headers, host }: FastifyRequest, { PUBLIC_URL }: ApiConfig): boolean {
  if (method === 'GET' || method === 'HEAD') return false
  if (headers['sec-fetch-site'] !== undefined) return headers['sec-fetch-site'] !== 'same-origin'
  if (headers.origin === undefined) return false
  const { protocol, origin } = URL.parse(headers.origin) ?? {}
  const ownOrigins = [`${protocol}//${host}`, PUBLIC_URL].map((url) => URL.parse(url)?.origin)
  return origin === undefined || origin === 'null' || !ownOrigins.includes(origin)
}

function openQueues(config: ApiConfig, onError: (error: Error) => void) {
  const redis = config.REDIS_URL
    ? connectRedis(config.REDIS_URL, {
        connectionName: 'rapport dashboard',
        maxRetriesPerRequest: 1,
        commandTimeout: 5_000,
      })
    : undefined
  redis?.on('error', onError)
  const postgres = { connectionString: directUrlOf(config), schema: queueSchema, max: 2, migrate: true }
  const all = queueNames.map((name) => openQueue(name, { redis, postgres, onError }))
  async function close(timeoutMs: number) {
    // While Redis is unavailable, `close` never resolves.
    redis?.disconnect()
    await withTimeout(Promise.allSettled(all.map((queue) => queue.close())), timeoutMs).catch(() => {})
  }
  return { all, close }
}
