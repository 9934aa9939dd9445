import { notFound } from '@rapport/core/kernel/errors.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { Empty } from '../../routes/shapes.ts'

/** Asked by a proxy before it gets a certificate. Without a rate limit: every handshake with a new name asks. */
export const tlsRoutes: FastifyPluginAsyncZod = async (app) => {
  app.get(
    '/tls-allowed',
    {
      config: { rateLimit: false, errorStatuses: [404] },
      schema: {
        tags: ['Operators'],
        operationId: 'tls.check',
        summary: 'Check whether a host may have a certificate',
        description:
          'Returns 204 for the host of `PUBLIC_URL` and for the verified hosts of workspaces, otherwise 404. For a proxy that gets certificates on demand, such as Caddy. A new host takes up to five seconds.',
        querystring: z.strictObject({ domain: z.string().max(500).describe('The host, as a TLS client names it.') }),
        response: { 204: Empty },
      },
    },
    async ({ query: { domain } }, reply) => {
      const isAllowed = app.hosts.isInstallation(domain) || (await app.hosts.find(domain)) !== undefined
      if (!isAllowed) throw notFound('Host')
      reply.code(204)
      return null
    },
  )
}
