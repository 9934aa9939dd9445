import { reportMailEvent } from '@rapport/core/operations/mail-events.ts'
import { MailReport, MailReportTaken } from '@rapport/core/operations/mail-events.schema.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { NoQuery } from './shapes.ts'

export const mailEventRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/mail-events',
    {
      schema: {
        tags: ['Campaigns'],
        security: [{ bearer: [] }],
        summary: 'Report a bounce or a complaint',
        description:
          'From your mail provider. A complaint, and a bounce that is permanent, keep the address out of every list from now on. To report the same again changes nothing.',
        querystring: NoQuery,
        body: MailReport,
        response: { 202: MailReportTaken },
      },
    },
    async (request, reply) => {
      await reportMailEvent(request.ctx, request.body)
      reply.code(202)
      return { success: true as const }
    },
  )
}
