import { reportMailEvent } from '@rapport/core/operations/mail/mail-events.ts'
import { MailEventInput, MailReportResult } from '@rapport/core/operations/mail/mail-events.schema.ts'
import { toMailReport } from '@rapport/core/operations/mail/mail-report.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { idempotent } from '../http/handlers/idempotency.ts'

export const mailEventRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/mail-events',
    {
      schema: {
        tags: ['Campaigns'],
        security: [{ bearer: [] }],
        operationId: 'mailEvents.create',
        summary: 'Report a bounce or a complaint',
        description:
          'Records a report from your mail provider. After a complaint or a permanent bounce, the address receives no more emails from any list. Repeating a report is a no-op; without `messageId`, on the same day, or for a bounce that is not permanent.',
        body: MailEventInput,
        response: { 202: MailReportResult },
      },
    },
    idempotent(async (request, reply) => {
      await reportMailEvent(request.ctx, toMailReport(request.body))
      reply.code(202)
      return { success: true as const }
    }),
  )
}
