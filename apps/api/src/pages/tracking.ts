import { openPixel, openTrackedLink, recordOpen, resolveTrackedLink } from '@rapport/core/campaigns/tracking.ts'
import { LinkToken } from '@rapport/core/kernel/validation.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { toErrorBody } from '../http/error-handler.ts'
import { errorPageResponse, acceptsHtml } from './document.ts'
import { sendMessage } from './message-page.ts'
import { PageQuery, readPageLanguage } from './page-language.ts'

const pixel = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
/** Enough for the longest URL, encoded twice, and its signature. */
const TokenQuery = PageQuery.extend({ token: LinkToken(12_000).describe('The token in the link.') })
const common = {
  tags: ['Hosted pages'],
  querystring: TokenQuery,
}

/** HEAD only checks a link: it is no open and no click. */
const isOpening = ({ method }: FastifyRequest) => method === 'GET'

/** The pixel and the links of a tracked email. */
export const trackingPages: FastifyPluginAsyncZod = async (app) => {
  app.addHook('onRequest', async (_request, reply) => {
    reply.preventCache()
  })

  app.get(
    '/public/open',
    {
      config: { openMailToken: openPixel, errorStatuses: [404] },
      schema: {
        ...common,
        operationId: 'pages.trackOpen',
        summary: 'Record an opened email',
        description:
          'Returns the pixel of a tracked email and records that it was opened. Each recipient is counted once.',
        response: { 200: { content: { 'image/gif': { schema: z.any().describe('A transparent pixel') } } } },
      },
    },
    async (request, reply) => {
      await recordOpen(request.baseCtx, request.query.token, { shouldRecord: isOpening(request) })
      return reply.type('image/gif').send(pixel)
    },
  )

  app.get(
    '/public/click',
    {
      config: { openMailToken: openTrackedLink },
      errorHandler(error, request, reply) {
        const { statusCode } = toErrorBody(error) ?? {}
        if ((statusCode !== 400 && statusCode !== 404) || !acceptsHtml(request)) throw error
        const language = readPageLanguage(request)
        const { brokenLink: title, brokenTrackedLink: text } = language.texts
        sendMessage(reply.status(statusCode as never) as FastifyReply, { language, title, text })
      },
      schema: {
        ...common,
        operationId: 'pages.trackClick',
        summary: 'Follow a tracked link',
        description: 'Records the click and redirects to the URL in the token. Each recipient is counted once.',
        response: {
          302: z.null().describe('Redirect to the URL in the token'),
          400: errorPageResponse,
          404: errorPageResponse,
        },
      },
    },
    async (request, reply) => {
      const url = await resolveTrackedLink(request.baseCtx, request.query.token, { shouldRecord: isOpening(request) })
      return reply.redirect(url, 302)
    },
  )
}
