import { runForWorkspace } from '@rapport/core/db/fair-pool.ts'
import { createFairSlots, type FairSlots } from '@rapport/core/kernel/concurrency/fair-slots.ts'
import { createRecentCallers } from '@rapport/core/kernel/concurrency/recent-callers.ts'
import { AppError } from '@rapport/core/kernel/errors.ts'
import type { WorkspaceId } from '@rapport/core/kernel/ids.ts'
import { createQuotaCache } from '@rapport/core/quotas/quota-cache.ts'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { isExpensiveRead } from './expensive-reads.ts'
import type { ApiTimings } from './server/api-timings.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The request may take minutes. It does not count as a concurrent request, and has a quota of its own. */
    hasOwnQuota?: boolean
  }
}

type Timings = Pick<ApiTimings, 'maxWaitMs' | 'quotaTtlMs' | 'aloneAfterMs'>

/** A request with a large body occupies the process for tens of milliseconds and several times its size in memory. */
const largeBodyBytes = 262_144
const maxLargeBodies = 4
/** Each may occupy a processor of PostgreSQL. Ten made the p99 of another workspace 200 to 290 ms (2026-11-27). */
const maxExpensiveReads = 2

/**
 * Limits the concurrent requests of each workspace in this process to its quota `requests`. Further requests wait, in
 * the order of arrival, for at most `maxWaitMs`. They wait before their body is read, so they use little memory. Of the
 * requests with a large body, four run concurrently: forty would delay other workspaces by seconds. Of the expensive
 * reads, two run concurrently while another workspace sends requests, and any number otherwise.
 */
export const concurrentRequests = fp(
  async (scope: FastifyInstance, { maxWaitMs, quotaTtlMs, aloneAfterMs }: Timings) => {
    const quota = createQuotaCache('requests', quotaTtlMs)
    const slots = createFairSlots(Infinity, quota.peek)
    const largeBodySlots = createFairSlots(Infinity, () => maxLargeBodies)
    const callers = createRecentCallers<WorkspaceId>(aloneAfterMs)
    const expensiveReadSlots = createFairSlots(Infinity, (id) => (callers.isAlone(id) ? Infinity : maxExpensiveReads))
    const endings = new WeakMap<FastifyRequest, () => void>()

    scope.addHook('preParsing', async (request, { raw }) => {
      const { workspaceId } = request.ctx
      callers.add(workspaceId)
      if (request.routeOptions.config.hasOwnQuota) return
      await quota.read(request.ctx)
      const waitsUntil = performance.now() + maxWaitMs
      const held: FairSlots[] = []
      const release = () => held.forEach((slots) => slots.release(workspaceId))
      try {
        // These first, so that requests that wait for them leave the other slots to further requests of their workspace.
        if (hasLargeBody(request)) held.push(await acquire(request, raw, { slots: largeBodySlots, waitsUntil }))
        if (isExpensiveRead(request)) held.push(await acquire(request, raw, { slots: expensiveReadSlots, waitsUntil }))
        held.push(await acquire(request, raw, { slots, waitsUntil }))
      } catch (error) {
        release()
        throw error
      }
      holdUntilEnded(request, raw, release)
    })

    async function acquire(
      request: FastifyRequest,
      raw: FastifyReply['raw'],
      { slots, waitsUntil }: { slots: FairSlots; waitsUntil: number },
    ): Promise<FairSlots> {
      const { workspaceId } = request.ctx
      if (!slots.tryAcquire(workspaceId)) {
        const closed = new AbortController()
        const abort = () => closed.abort()
        raw.once('close', abort)
        const isAcquired = await slots.acquire(workspaceId, waitsUntil - performance.now(), closed.signal)
        raw.off('close', abort)
        if (!isAcquired) throw raw.destroyed ? clientClosed() : tooManyRequests()
      }
      if (raw.destroyed) {
        // The body would never arrive or fail, and the slot would never be free again.
        slots.release(workspaceId)
        throw clientClosed()
      }
      return slots
    }

    /**
     * Calls `release` when the handler has ended and the response is sent. If the client closes the connection, the
     * handler still runs: its slot is not free, or a client could start any number of handlers.
     */
    function holdUntilEnded(request: FastifyRequest, raw: FastifyReply['raw'], release: () => void) {
      const unfinished = new Set(['handler', 'response'])
      const finish = (part: 'handler' | 'response') => {
        if (unfinished.delete(part) && unfinished.size === 0) release()
      }
      raw.once('close', () => finish('response'))
      endings.set(request, () => finish('handler'))
    }

    scope.addHook('preHandler', ({ ctx }, _reply, done) => runForWorkspace(ctx.workspaceId, done))

    function endHandler(request: FastifyRequest) {
      endings.get(request)?.()
      endings.delete(request)
    }
    scope.addHook('onError', async (request) => endHandler(request))
    scope.addHook('onSend', async (request) => endHandler(request))
  },
  { name: 'concurrent-requests', dependencies: ['authentication'] },
)

/** A body of unknown length counts as large. */
function hasLargeBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > largeBodyBytes
}

const tooManyRequests = () =>
  new AppError('unavailable', 'The workspace has too many concurrent requests; try again', { retryAfterSeconds: 1 })

/** For the log: the client does not receive it. */
const clientClosed = () => new AppError('request_timeout', 'The client closed the connection')
