import { ContactBatch, ContactBatchResults } from '@rapport/core/contacts/batch/contact-batch.schema.ts'
import { writeContactBatch } from '@rapport/core/contacts/batch/write-contact-batch.ts'
import { withoutParameters } from '@rapport/core/kernel/errors.ts'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { idempotent } from '../http/handlers/idempotency.ts'

export const contactBatchRoutes: FastifyPluginAsyncZod = async (app) => {
  app.post(
    '/contacts/batch',
    {
      schema: {
        tags: ['Contacts'],
        security: [{ bearer: [] }],
        operationId: 'contacts.batch',
        summary: 'Create or update up to 100 contacts',
        description: [
          'Each contact succeeds or fails by itself, and the results are in the order of the contacts. Contacts with the same email take effect one after the other. Emits `contact.created` or `contact.updated` for each contact that changed; a no-op update is `UNCHANGED` and emits no event.',
          'The limit counts one request: 20 requests sync 2,000 contacts. A body has at most 1 MiB and 10,000 values. For larger amounts, use `POST /contacts/import`.',
          'The contacts that succeed are written in one transaction. After a 503 or a lost response, send the request again: with the same `Idempotency-Key` it takes effect once, and with `onConflict` `skip` or `update` it creates no contact twice.',
        ].join('\n\n'),
        body: ContactBatch,
        response: { 200: ContactBatchResults },
      },
    },
    idempotent((request) =>
      writeContactBatch(request.ctx, request.body, (error) =>
        request.log.error({ err: withoutParameters(error) }, 'contact of a batch failed'),
      ),
    ),
  )
}
