import { resolveTrackedLink, recordOpen } from '@rapport/core/campaigns/tracking.ts'
import type { FastifyReply } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { toErrorBody } from '../http/error-handler.ts'
import { errorPageResponse, acceptsHtml } from './document.ts'
import { sendMessage } from './message-page.ts'

const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
/** A long address twice encoded, and what it is signed with. */
const TokenQuery = z.strictObject({ token: z.string().max(12_000) })
const common = {
  tags: ['Subscription pages'],
  querystring: TokenQuery,
}

/** What the links and the pixel of a tracked mail lead to. */
export const trackingPages: FastifyPluginAsyncZod = async (app) => {
  app.addHook('onRequest', async (_request, reply) => {
    reply.preventCache().header('referrer-policy', 'no-referrer')
  })

  app.get(
    '/public/open',
    {
      schema: {
        ...common,
        summary: 'The pixel of a tracked mail',
        response: { 200: { content: { 'image/gif': { schema: z.any().describe('A transparent pixel') } } } },
      },
    },
    async (request, reply) => {
      await recordOpen(request.baseCtx, request.query.token)
      return reply.type('image/gif').send(pixel)
    },
  )

  app.get(
    '/public/click',
    {
      errorHandler(error, request, reply) {
        if (toErrorBody(error)?.statusCode !== 400 || !acceptsHtml(request)) throw error
        sendMessage(reply.status(400 as never) as FastifyReply, {
          title: 'This link does not work',
          text: 'It may be incomplete. Please open it once more from the mail.',
        })
      },
      schema: {
        ...common,
        summary: 'A link of a tracked mail',
        response: { 302: z.string().describe('To where the link leads'), 400: errorPageResponse },
      },
    },
    async (request, reply) => {
      // Who only asks whether the page is there (HEAD) has not clicked.
      const url = await resolveTrackedLink(request.baseCtx, request.query.token, {
        shouldRecord: request.method === 'GET',
      })
      return reply.code(302).header('location', url).send('')
    },
  )
}
