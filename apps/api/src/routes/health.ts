import { Readiness } from '@rapport/core/db/readiness.ts'
import { version } from '@rapport/core/runtime/version.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'

const Health = z
  .object({
    status: z.literal('ok').describe('Always `ok`.'),
    version: z.string().describe('The version of Rapport.'),
  })
  .meta({ id: 'Health', description: 'The process runs.' })

const getDescription =
  'Returns 503 if the process cannot serve requests; `parts` shows why. While Redis is unavailable, `status` is ' +
  '`degraded` and the response is still 200: requests are accepted, and their background work runs once Redis is ' +
  'available again. ' +
  'If `clock.status` is `off`, the ids and timestamps that this process creates are wrong; this does not affect ' +
  '`status`.'

/** The health and readiness routes. They have no rate limit, because load balancers poll them often. */
export const healthRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/health',
    {
      config: { rateLimit: false },
      schema: {
        tags: ['Operators'],
        operationId: 'health.get',
        summary: 'Check health',
        description: 'Returns 200 while the process runs.',
        response: { 200: Health },
      },
    },
    async () => ({ status: 'ok' as const, version }),
  )

  app.get(
    '/ready',
    {
      config: { rateLimit: false },
      schema: {
        tags: ['Operators'],
        operationId: 'ready.get',
        summary: 'Check readiness',
        description: getDescription,
        response: { 200: Readiness, 503: Readiness },
      },
    },
    async (_request, reply) => {
      const readiness = await app.readReadiness()
      if (readiness.status === 'unavailable') reply.code(503)
      return readiness
    },
  )
}
