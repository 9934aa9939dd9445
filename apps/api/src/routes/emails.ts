import { createEmailBatch } from '@rapport/core/emails/create-email-batch.ts'
import { createEmail } from '@rapport/core/emails/create-email.ts'
import { listEmails, readEmail } from '@rapport/core/emails/emails.ts'
import {
  EmailBatch,
  EmailBatchResults,
  EmailInput,
  EmailQuery,
  EmailRecord,
} from '@rapport/core/emails/emails.schema.ts'
import { PageOf } from '@rapport/core/request/paging.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { idempotent } from '../http/handlers/idempotency.ts'
import { IdParams, largeBodyLimit } from './shapes.ts'

const common = { tags: ['Emails'], security: [{ bearer: [] }] }

export const emailRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/emails',
    {
      config: { errorStatuses: [409] },
      schema: {
        ...common,
        operationId: 'emails.create',
        summary: 'Send an email to one person',
        description: [
          'Accepts an email from a template, which is sent in the background, before campaigns. `to` names one person: `email` finds the contact or creates it, and fills what is empty. A missing, unknown or ill-typed value is a 400 at `data.<name>`.',
          'It is sent at most once: a temporary refusal, or one of the login or the sender, is tried again at most five times in 24 hours; after a crash or an ambiguous response it is `INTERRUPTED`, and only another request sends another one. With an `Idempotency-Key`, a repeated request sends no second email.',
          'Returns 409 `opted_out` if the address bounced, complained, or was blocked (`MANUAL`). An opt-out from newsletters does not stop it. Returns 409 `wrong_state` while the template is PAUSED. Emits `email.sent`, `email.failed`, `email.interrupted` or `email.skipped`.',
        ].join('\n\n'),
        body: EmailInput,
        response: { 202: EmailRecord },
      },
    },
    idempotent(async (request, reply) => {
      const email = await createEmail(request.ctx, request.body)
      reply.code(202).header('location', `/emails/${email.id}`)
      return email
    }),
  )

  app.post(
    '/emails/batch',
    {
      bodyLimit: largeBodyLimit,
      schema: {
        ...common,
        operationId: 'emails.batch',
        summary: 'Send up to 100 emails to one person each',
        description:
          'Each email is accepted or fails by itself, and the results are in the order of the emails. Those that are accepted are accepted in one transaction. A body has at most 4 MiB and 10,000 values.',
        body: EmailBatch,
        response: { 200: EmailBatchResults },
      },
    },
    idempotent((request) => createEmailBatch(request.ctx, request.body)),
  )

  app.get(
    '/emails',
    {
      schema: {
        ...common,
        operationId: 'emails.list',
        summary: 'List emails',
        description: 'Returns the emails from templates of the last 90 days (`RETENTION_EMAILS_DAYS`), newest first.',
        querystring: EmailQuery,
        response: { 200: PageOf(EmailRecord) },
      },
    },
    (request) => listEmails(request.ctx, request.query),
  )

  app.get(
    '/emails/:id',
    {
      config: { etag: true },
      schema: {
        ...common,
        operationId: 'emails.get',
        summary: 'Retrieve an email',
        description: 'Returns the status of the email, and what was reported of it.',
        params: IdParams('mai'),
        response: { 200: EmailRecord },
      },
    },
    (request) => readEmail(request.ctx, request.params.id),
  )
}
